#include "video/read/packet_cursor.h"

#include <utility>

#include <lanner/log.h>

#include "base/check.h"
#include "video/write/stream_facts.h"

namespace lanner {

namespace {

// A seek that lands further away than this is given up.
constexpr int packets_to_orient = 512;
// Reading on costs less than a seek up to here.
constexpr std::uint64_t near_bytes = 1 << 18;

StreamInfo choose_stream(const Demuxer& demuxer, int wanted, const std::string& name) {
  const auto& streams = demuxer.streams();
  const int index = wanted >= 0 ? wanted : demuxer.best_video();
  check(index >= 0, ErrorCode::bad_data, "{}: no video stream among {} streams of format {}", name,
        streams.size(), demuxer.format());
  check(static_cast<std::size_t>(index) < streams.size(), ErrorCode::invalid_argument,
        "{}: no stream {}; there are {}", name, index, streams.size());
  const StreamInfo& stream = streams[static_cast<std::size_t>(index)];
  check(stream.kind == "video", ErrorCode::invalid_argument, "{}: stream {} is {}, not video", name, index,
        stream.kind);
  return stream;
}

} // namespace

PacketCursor::PacketCursor(SourcePtr source, const DemuxerOptions& options, int stream, bool raise_on_damage)
    : source_(std::move(source)), options_(options), raise_on_damage_(raise_on_damage) {
  demuxer_ = lanner::open_demuxer(source_, options_);
  stream_ = choose_stream(*demuxer_, stream, source_->name());
  demuxer_->select(std::span<const int>(&stream_.index, 1));
}

std::unique_ptr<Demuxer> PacketCursor::new_demuxer() const {
  check(source_->seekable(), ErrorCode::unsupported,
        "{}: random access and counting need a source that can go back; write the stream to a file first",
        source_->name());
  auto demuxer = lanner::open_demuxer(source_, options_);
  demuxer->select(std::span<const int>(&stream_.index, 1));
  return demuxer;
}

PacketList PacketCursor::read_list(const Control& control) {
  check(position_ == 0, ErrorCode::internal, "packets: the list is read from the stream's beginning");
  PacketList list = read_packets(*demuxer_, stream_.index, options_.limits, control);
  position_ = static_cast<std::int64_t>(list.packets.size());
  damaged_ = list.damaged;
  show_until(list.packets, told_end(), stream_.time_base);
  return list;
}

std::int64_t PacketCursor::told_end() const {
  const bool whole = !damaged_ && demuxer_->damage().empty() && position_ >= stream_.frames;
  return whole ? stream_facts(*demuxer_, stream_.index).end : no_pts;
}

std::optional<Packet> PacketCursor::stream_packet() {
  while (true) {
    std::optional<Packet> packet = next_or_end(*demuxer_, raise_on_damage_, damaged_);
    const std::string& damage = demuxer_->damage();
    check(packet || damage.empty() || !raise_on_damage_, ErrorCode::bad_data, "{}", damage);
    if (!packet || packet->stream == stream_.index) return packet;
  }
}

std::optional<Packet> PacketCursor::next() {
  std::optional<Packet> packet = pending_ ? std::exchange(pending_, std::nullopt) : stream_packet();
  if (packet) ++position_;
  return packet;
}

void PacketCursor::restart() {
  demuxer_ = new_demuxer();
  damaged_ = false;
  position_ = 0;
  pending_.reset();
  lost_ = false;
  from_start_ = true;
}

void PacketCursor::go_to(std::int64_t ordinal, const PacketTable& table) {
  move_to(ordinal, table);
  if (from_start_ && ordinal < table.size()) expect_packet(ordinal, table);
}

void PacketCursor::move_to(std::int64_t ordinal, const PacketTable& table) {
  if (!lost_ && ordinal == position_) return;
  if (!lost_ && ordinal > position_ && (seeks_fail_ || is_near(ordinal, table))) return read_up_to(ordinal);
  if (ordinal == 0) return restart();
  if (!seeks_fail_ && seek_to(ordinal, table)) return;
  if (!seeks_fail_)
    log_message(LogLevel::debug,
                fmt::format("{}: no seek finds packet {}; reading forwards", source_->name(), ordinal));
  seeks_fail_ = true;
  restart();
  read_up_to(ordinal);
}

// What is read without a seek is what the table was made of, if it is of this file. Another start would not
// mend it.
void PacketCursor::expect_packet(std::int64_t ordinal, const PacketTable& table) {
  if (!pending_) pending_ = stream_packet();
  const PacketEntry& entry = table[ordinal];
  if (pending_ && pending_->pts == entry.pts && pending_->bytes.size() == entry.size) return;
  log_message(LogLevel::debug, fmt::format("{}: packet {} is not the index's", source_->name(), ordinal));
  throw IndexContradicted();
}

bool PacketCursor::is_near(std::int64_t ordinal, const PacketTable& table) const {
  std::uint64_t bytes = 0;
  for (std::int64_t i = position_; i < ordinal && bytes <= near_bytes; ++i) bytes += table[i].size;
  return bytes <= near_bytes;
}

bool PacketCursor::seek_to(std::int64_t ordinal, const PacketTable& table) {
  const PacketEntry& target = table[ordinal];
  const std::int64_t second = stream_.time_base.num > 0 ? stream_.time_base.den / stream_.time_base.num : 0;
  std::int64_t earlier = target.pts;
  if (target.dts != no_pts && __builtin_sub_overflow(target.dts, second, &earlier)) earlier = target.dts;
  for (const std::int64_t pts : {target.pts, target.dts, earlier})
    if (pts != no_pts && enter(ordinal, table, [&] { demuxer_->seek(stream_.index, pts); })) return true;
  const bool timed = target.pts != no_pts || target.dts != no_pts;
  return !timed && target.pos >= 0 && enter(ordinal, table, [&] { demuxer_->seek_to_byte(target.pos); });
}

// Containers may land anywhere, so the packet that was found is compared with the table.
bool PacketCursor::enter(std::int64_t ordinal, const PacketTable& table, const std::function<void()>& seek) {
  lost_ = true;
  from_start_ = false;
  pending_.reset();
  try {
    seek();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::io) throw;
    return false;
  }
  for (int i = 0; i < packets_to_orient; ++i) {
    std::optional<Packet> packet = stream_packet();
    if (!packet) return false;
    const std::int64_t found = table.find(*packet);
    if (found < 0) continue;
    if (found > ordinal) return false;
    position_ = found;
    pending_ = std::move(packet);
    lost_ = false;
    read_up_to(ordinal);
    return true;
  }
  return false;
}

void PacketCursor::read_up_to(std::int64_t ordinal) {
  while (position_ < ordinal)
    check(next().has_value(), ErrorCode::bad_data,
          "{}: ends at packet {}, the index has packet {}; was the file changed?", source_->name(), position_,
          ordinal);
}

} // namespace lanner
