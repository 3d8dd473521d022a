#include "video/frame_cursor.h"

#include <algorithm>
#include <utility>

#include <lanner/log.h>

namespace lanner {

namespace {

// More packets than any decoder holds back.
constexpr std::size_t remembered_packets = 4096;
// A seek that lands further away than this is given up.
constexpr int packets_to_orient = 512;

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

FrameCursor::FrameCursor(SourcePtr source, const VideoReaderOptions& options)
    : source_(std::move(source)), options_(options) {
  check(source_ != nullptr, ErrorCode::invalid_argument, "VideoReader: no source was given");
  demuxer_ = lanner::open_demuxer(source_, options_.demuxer);
  stream_ = choose_stream(*demuxer_, options_.stream, source_->name());
  demuxer_->select(std::span<const int>(&stream_.index, 1));
  decoder_ = create_decoder(stream_, options_.decoder);
}

std::unique_ptr<Demuxer> FrameCursor::new_demuxer() const {
  check(source_->seekable(), ErrorCode::unsupported,
        "{}: random access and counting need a source that can go back; write the stream to a file first",
        source_->name());
  auto demuxer = lanner::open_demuxer(source_, options_.demuxer);
  demuxer->select(std::span<const int>(&stream_.index, 1));
  return demuxer;
}

PacketTable FrameCursor::read_table(const Control& control) const {
  const auto demuxer = new_demuxer();
  return read_packets(*demuxer, stream_.index, options_.demuxer.limits, control);
}

std::optional<Packet> FrameCursor::stream_packet() {
  while (true) {
    std::optional<Packet> packet = next_or_end(*demuxer_, options_.decoder.raise_on_error);
    const std::string& damage = demuxer_->damage();
    check(packet || damage.empty() || !options_.decoder.raise_on_error, ErrorCode::bad_data, "{}", damage);
    if (!packet || packet->stream == stream_.index) return packet;
  }
}

std::optional<Packet> FrameCursor::next_packet() {
  if (pending_) return std::exchange(pending_, std::nullopt);
  std::optional<Packet> packet = stream_packet();
  if (packet) remember(*packet);
  return packet;
}

// Gives the packet its ordinal; see Note [Frames by ordinal].
void FrameCursor::remember(const Packet& packet) {
  times_.push_back({packet.pts, packet.duration});
  if (times_.size() > remembered_packets) times_.pop_front();
  ++position_;
}

std::optional<TaggedFrame> FrameCursor::next() {
  while (true) {
    if (std::optional<Frame> frame = decoder_->receive()) return tag(std::move(*frame));
    if (decoder_->finished() || drained_) {
      check(gave_frames_ || !from_start_, ErrorCode::bad_data,
            "{}: no picture of stream {} ({}) can be decoded from {} packets", source_->name(), stream_.index,
            stream_.codec, position_);
      return std::nullopt;
    }
    std::optional<Packet> packet = next_packet();
    if (!packet) {
      drained_ = !decoder_->send(nullptr);
      continue;
    }
    const std::int64_t ordinal = position_ - 1;
    Packet input = *packet;
    input.pts = ordinal;
    input.dts = no_pts;
    if (!decoder_->send(&input)) pending_ = std::move(packet);
  }
}

TaggedFrame FrameCursor::tag(Frame frame) {
  TaggedFrame tagged{std::move(frame), -1};
  const std::int64_t oldest = position_ - static_cast<std::int64_t>(times_.size());
  const std::int64_t ordinal = tagged.frame.pts;
  tagged.frame.pts = no_pts;
  tagged.frame.duration = 0;
  gave_frames_ = true;
  if (ordinal < oldest || ordinal >= position_) return tagged;
  const Times& times = times_[static_cast<std::size_t>(ordinal - oldest)];
  tagged.ordinal = ordinal;
  tagged.frame.pts = times.pts;
  tagged.frame.duration = times.duration;
  return tagged;
}

void FrameCursor::restart() {
  demuxer_ = new_demuxer();
  decoder_ = create_decoder(stream_, options_.decoder);
  position_ = 0;
  from_start_ = true;
  times_.clear();
  pending_.reset();
  drained_ = false;
}

void FrameCursor::start_at(std::int64_t ordinal, PacketTable& table) {
  const PacketEntry& target = table.packets.at(static_cast<std::size_t>(ordinal));
  if (ordinal == 0) return restart();
  from_start_ = false;
  const std::int64_t second = stream_.time_base.num > 0 ? stream_.time_base.den / stream_.time_base.num : 0;
  const std::int64_t earlier = target.dts != no_pts ? target.dts - second : target.pts;
  const auto by_time = [this](std::int64_t pts) {
    return [this, pts] { demuxer_->seek(stream_.index, pts); };
  };
  for (const std::int64_t pts : {target.pts, target.dts, earlier})
    if (pts != no_pts && enter(ordinal, table, by_time(pts))) return;
  const bool timed = target.pts != no_pts || target.dts != no_pts;
  if (!timed && target.pos >= 0 && enter(ordinal, table, [&] { demuxer_->seek_to_byte(target.pos); })) return;
  log(LogLevel::debug,
      fmt::format("{}: no seek finds packet {}; reading from the start", source_->name(), ordinal));
  restart();
  from_start_ = false;
  skip_to(ordinal);
}

// Containers may land anywhere, so the packet that was found is compared with the table.
bool FrameCursor::enter(std::int64_t ordinal, PacketTable& table, const std::function<void()>& seek) {
  try {
    seek();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::io) throw;
    return false;
  }
  decoder_->flush();
  times_.clear();
  pending_.reset();
  drained_ = false;
  for (int i = 0; i < packets_to_orient; ++i) {
    std::optional<Packet> packet = stream_packet();
    if (!packet) return false;
    const std::int64_t found = table.find(*packet);
    if (found < 0) continue;
    if (found > ordinal) return false;
    position_ = found;
    remember(*packet);
    if (found < ordinal)
      skip_to(ordinal);
    else
      pending_ = std::move(packet);
    return true;
  }
  return false;
}

// Reads until packet `ordinal` is the one that the decoder gets next.
void FrameCursor::skip_to(std::int64_t ordinal) {
  while (position_ <= ordinal) {
    std::optional<Packet> packet = next_packet();
    check(packet.has_value(), ErrorCode::bad_data,
          "{}: ends at packet {}, the index has packet {}; was the file changed?", source_->name(), position_,
          ordinal);
    if (position_ > ordinal) pending_ = std::move(packet);
  }
}

} // namespace lanner
