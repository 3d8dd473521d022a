#include "video/index/packet_table.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <lanner/log.h>

#include "base/limits/limit_error.h"

namespace lanner {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xbf58476d1ce4e5b9ull;
}

// Positions tell packets without times apart; where there are times, some containers give others after a
// seek.
std::uint64_t look_of(std::int64_t pts, std::int64_t dts, std::int64_t pos, std::uint64_t size) {
  const bool timed = pts != no_pts || dts != no_pts;
  const std::uint64_t place = timed ? static_cast<std::uint64_t>(dts) : static_cast<std::uint64_t>(pos);
  return mix(mix(static_cast<std::uint64_t>(pts), place), size);
}

PacketEntry entry_of(const Packet& packet, const PacketTraits& traits) {
  PacketEntry entry{packet.pts, packet.dts, packet.duration, packet.pos};
  entry.size = static_cast<std::uint32_t>(std::min<std::size_t>(packet.bytes.size(), UINT32_MAX));
  entry.start = traits.start;
  entry.key = packet.key && !traits.other_picture;
  entry.shown = traits.shown && !packet.discard;
  entry.corrupt = packet.corrupt;
  entry.disposable = traits.disposable;
  entry.delayed = traits.delayed;
  return entry;
}

// A decoder that begins at an open entry does not show the pictures before it, or shows them damaged.
bool first_is_whole(const std::vector<PacketEntry>& packets, bool codec_is_known) {
  if (packets.empty()) return false;
  const PacketEntry& first = packets.front();
  if (!is_exact(first.start)) return first.start == EntryPoint::inexact && !codec_is_known;
  if (first.start != EntryPoint::open && first.start != EntryPoint::recovery) return true;
  return std::none_of(packets.begin(), packets.end(), [&](const PacketEntry& packet) {
    return packet.shown && (packet.pts == no_pts || packet.pts < first.pts);
  });
}

/// Whether the packets' times and their pictures tell of one order.
class OrderCheck {
public:
  void see(const PacketEntry& entry, const PacketTraits& traits) {
    agrees_ = agrees_ && !traits.doubtful;
    if (entry.pts == no_pts) return;
    if (entry.pts >= latest_) {
      agrees_ = agrees_ && !traits.reordered;
      latest_ = entry.pts;
    } else {
      rising_ = false;
    }
  }
  // Containers that lost the times of reordered pictures have put down those of decoding.
  bool agrees(bool codec_reorders) const noexcept { return agrees_ && !(codec_reorders && rising_); }

private:
  std::int64_t latest_ = INT64_MIN;
  bool agrees_ = true, rising_ = true;
};

bool are_certain(const std::vector<PacketEntry>& packets, const StreamInfo& stream, bool codec_is_known) {
  if (!first_is_whole(packets, codec_is_known)) return false;
  if (stream.interlaced && stream.codec == "h264") return false; // Fields may be packets of their own.
  std::vector<std::int64_t> times;
  times.reserve(packets.size());
  for (const PacketEntry& packet : packets) {
    if (packet.corrupt) return false;
    if (!packet.shown) continue;
    if (packet.pts == no_pts) return false;
    times.push_back(packet.pts);
  }
  std::sort(times.begin(), times.end());
  return std::adjacent_find(times.begin(), times.end()) == times.end();
}

} // namespace

std::int64_t PacketTable::find(const Packet& packet) const {
  std::call_once(sorted_, [this] {
    by_look_.reserve(packets_.size());
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      const PacketEntry& entry = packets_[i];
      by_look_.emplace_back(look_of(entry.pts, entry.dts, entry.pos, entry.size),
                            static_cast<std::int64_t>(i));
    }
    std::sort(by_look_.begin(), by_look_.end());
  });
  const std::uint64_t look = look_of(packet.pts, packet.dts, packet.pos, packet.bytes.size());
  const auto found = std::lower_bound(by_look_.begin(), by_look_.end(), std::pair(look, std::int64_t{-1}));
  if (found == by_look_.end() || found->first != look) return -1;
  const auto after = std::next(found);
  return after != by_look_.end() && after->first == look ? -1 : found->second;
}

std::optional<Packet> next_or_end(Demuxer& demuxer, bool raise_on_damage, bool& damaged) {
  try {
    return demuxer.next();
  } catch (const Error& error) {
    if (raise_on_damage || error.code() != ErrorCode::bad_data) throw;
    log_message(LogLevel::warning, error.message());
    damaged = true;
    return std::nullopt;
  }
}

PacketList read_packets(Demuxer& demuxer, int stream, const Limits& limits, const Control& control) {
  PacketList list;
  const StreamInfo info = demuxer.streams().at(static_cast<std::size_t>(stream));
  const auto expected = static_cast<double>(info.frames);
  PacketScanner scanner(info);
  OrderCheck order;
  std::vector<std::uint8_t> layers;
  std::uint8_t highest = 0;
  bool palette_changes = false;
  while (true) {
    control.cancel.check();
    const std::optional<Packet> packet = next_or_end(demuxer, false, list.damaged);
    if (!packet) break;
    if (packet->stream != stream) continue;
    check_limit("frames", list.packets.size() + 1, limits.frames, "index: stream {} has {} packets or more",
                stream, list.packets.size() + 1);
    const PacketTraits traits = scanner.scan(*packet);
    list.packets.push_back(entry_of(*packet, traits));
    palette_changes = palette_changes || (packet->palette && list.packets.size() > 1);
    order.see(list.packets.back(), traits);
    layers.push_back(traits.layer);
    highest = std::max(highest, traits.layer);
    if (list.packets.size() % 1024 == 0)
      control.report({"index", static_cast<double>(list.packets.size()), expected, "frames"});
  }
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i] != highest) list.packets[i].disposable = false;
  for (const std::int64_t ordinal : scanner.inexact_entries())
    list.packets[static_cast<std::size_t>(ordinal)].start = EntryPoint::inexact;
  if (palette_changes)
    for (std::size_t i = 1; i < list.packets.size(); ++i)
      if (is_exact(list.packets[i].start)) list.packets[i].start = EntryPoint::inexact;
  list.frames_are_certain =
      order.agrees(scanner.reorders()) && are_certain(list.packets, info, scanner.knows_codec());
  return list;
}

std::vector<ShownFrame> predict_frames(const std::vector<PacketEntry>& packets) {
  std::vector<ShownFrame> frames;
  bool timed = true;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const PacketEntry& packet = packets[i];
    if (!packet.shown) continue;
    frames.push_back({static_cast<std::int64_t>(i), packet.pts, packet.duration});
    timed = timed && packet.pts != no_pts;
  }
  if (timed)
    std::stable_sort(frames.begin(), frames.end(),
                     [](const auto& a, const auto& b) { return a.pts < b.pts; });
  fill_missing_times(frames, packets.empty() ? no_pts : packets.front().dts);
  return frames;
}

void fill_missing_times(std::vector<ShownFrame>& frames, std::int64_t first_dts) {
  const auto first = std::span(frames).first(std::min(frames.size(), frames_for_a_time));
  const bool none = std::ranges::all_of(first, [](const ShownFrame& frame) { return frame.pts == no_pts; });
  if (none && !frames.empty() && frames[0].duration > 0) frames[0].pts = first_dts;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const ShownFrame& before = frames[i - 1];
    std::int64_t end = 0;
    if (frames[i].pts == no_pts && before.pts != no_pts && before.duration > 0 &&
        !__builtin_add_overflow(before.pts, before.duration, &end))
      frames[i].pts = end;
  }
  for (std::size_t i = frames.size(); i-- > 1;)
    if (const auto begin = begin_before(frames[i].pts, frames[i - 1].duration); frames[i - 1].pts == no_pts)
      frames[i - 1].pts = begin;
}

std::int64_t shown_for(std::int64_t pts, std::int64_t next, std::int64_t told) {
  std::int64_t distance = 0;
  if (pts == no_pts || next == no_pts || __builtin_sub_overflow(next, pts, &distance)) return told;
  return distance > 0 ? distance : told;
}

std::int64_t shown_until(std::int64_t pts, std::int64_t end, std::int64_t told, const Rational& time_base) {
  constexpr double rounding = 2e-3;
  std::int64_t left = 0, difference = 0;
  if (pts == no_pts || end == no_pts || __builtin_sub_overflow(end, pts, &left) || left <= 0) return told;
  if (told <= 0 || __builtin_sub_overflow(left, told, &difference)) return left;
  return std::abs(static_cast<double>(difference)) * time_base.to_double() > rounding ? left : told;
}

void show_until(std::vector<PacketEntry>& packets, std::int64_t end, const Rational& time_base) {
  PacketEntry* last = nullptr;
  for (PacketEntry& packet : packets) {
    if (!packet.shown) continue;
    if (packet.pts == no_pts) return;
    if (!last || packet.pts > last->pts) last = &packet;
  }
  if (last) last->duration = shown_until(last->pts, end, last->duration, time_base);
}

std::int64_t begin_before(std::int64_t next, std::int64_t duration) {
  std::int64_t begin = 0;
  const bool told = next != no_pts && duration > 0 && !__builtin_sub_overflow(next, duration, &begin);
  return told ? begin : no_pts;
}

} // namespace lanner
