#include "video/packet_table.h"

#include <algorithm>

#include <lanner/log.h>

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

} // namespace

std::int64_t PacketTable::find(const Packet& packet) {
  if (by_look_.empty()) {
    by_look_.reserve(packets.size());
    for (std::size_t i = 0; i < packets.size(); ++i) {
      const auto look = look_of(packets[i].pts, packets[i].dts, packets[i].pos, packets[i].size);
      const auto [place, fresh] = by_look_.emplace(look, static_cast<std::int64_t>(i));
      if (!fresh) place->second = -1;
    }
  }
  const auto found = by_look_.find(look_of(packet.pts, packet.dts, packet.pos, packet.bytes.size()));
  return found == by_look_.end() ? -1 : found->second;
}

std::optional<Packet> next_or_end(Demuxer& demuxer, bool raise_on_damage) {
  try {
    return demuxer.next();
  } catch (const Error& error) {
    if (raise_on_damage || error.code() != ErrorCode::bad_data) throw;
    log(LogLevel::warning, error.message());
    return std::nullopt;
  }
}

PacketTable read_packets(Demuxer& demuxer, int stream, const Limits& limits, const Control& control) {
  PacketTable table;
  table.stream = stream;
  const StreamInfo& info = demuxer.streams().at(static_cast<std::size_t>(stream));
  table.time_base = info.time_base;
  const auto expected = static_cast<double>(info.frames);
  PacketScanner scanner(info);
  while (true) {
    control.cancel.check();
    const std::optional<Packet> packet = next_or_end(demuxer, false);
    if (!packet) break;
    if (packet->stream != stream) continue;
    check(table.packets.size() < limits.frames, ErrorCode::limit_exceeded,
          "index: stream {} has more than Limits::frames = {} packets", stream, limits.frames);
    PacketEntry entry{packet->pts, packet->dts, packet->duration, packet->pos, packet->bytes.size()};
    const PacketTraits traits = scanner.scan(*packet);
    entry.start = traits.start;
    entry.key = packet->key;
    entry.shown = traits.shown && !packet->discard;
    entry.corrupt = packet->corrupt;
    table.packets.push_back(entry);
    if (table.packets.size() % 1024 == 0)
      control.report({"index", static_cast<double>(table.packets.size()), expected, "frames"});
  }
  return table;
}

bool frames_are_certain(const PacketTable& table, const StreamInfo& stream) {
  if (table.packets.empty() || table.packets.front().start == EntryPoint::none) return false;
  if (stream.interlaced && stream.codec == "h264") return false; // Fields may be packets of their own.
  std::vector<std::int64_t> times;
  times.reserve(table.packets.size());
  for (const PacketEntry& packet : table.packets) {
    if (packet.corrupt) return false;
    if (!packet.shown) continue;
    if (packet.pts == no_pts) return false;
    times.push_back(packet.pts);
  }
  std::sort(times.begin(), times.end());
  return std::adjacent_find(times.begin(), times.end()) == times.end();
}

std::vector<ShownFrame> predict_frames(const PacketTable& table) {
  std::vector<ShownFrame> frames;
  bool timed = true;
  for (std::size_t i = 0; i < table.packets.size(); ++i) {
    const PacketEntry& packet = table.packets[i];
    if (!packet.shown) continue;
    frames.push_back({static_cast<std::int64_t>(i), packet.pts, packet.duration});
    timed = timed && packet.pts != no_pts;
  }
  if (timed)
    std::stable_sort(frames.begin(), frames.end(),
                     [](const auto& a, const auto& b) { return a.pts < b.pts; });
  fill_missing_times(frames);
  return frames;
}

void fill_missing_times(std::vector<ShownFrame>& frames) {
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const ShownFrame& before = frames[i - 1];
    if (frames[i].pts == no_pts && before.pts != no_pts && before.duration > 0)
      frames[i].pts = before.pts + before.duration;
  }
}

} // namespace lanner
