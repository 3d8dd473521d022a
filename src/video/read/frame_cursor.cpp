#include "video/read/frame_cursor.h"

#include <utility>

#include "base/check.h"
#include "video/nvdec/library.h"
#include "video/read/damaged_picture.h"

namespace lanner {

namespace {

// More packets than any decoder holds back.
constexpr std::size_t remembered_packets = 4096;

std::string name_of(const SourcePtr& source) {
  check(source != nullptr, ErrorCode::invalid_argument, "VideoReader: no source was given");
  return source->name();
}

// A picture that resets the decoder's state shows the same after a flush and in a decoder that is fresh. The
// first packet of a stream that was cut may need no such thing to be where decoding starts, and what a flush
// leaves (numbers of pictures before) is seen then.
bool begins_anew(EntryPoint start) {
  return start != EntryPoint::none && start != EntryPoint::inexact;
}

PacketCursor open_packets(SourcePtr source, const VideoReaderOptions& options) {
  const nvdec::EarlyStart start(options.decoder.device);
  return PacketCursor(std::move(source), options.demuxer, options.stream, options.decoder.raise_on_error);
}

} // namespace

FrameCursor::FrameCursor(SourcePtr source, const VideoReaderOptions& options)
    : name_(name_of(source)), options_(options.decoder), packets_(open_packets(std::move(source), options)),
      decoder_(create_decoder(packets_.stream(), options_)) {}

// What the filter skips is read past, but its times are remembered: ordinals count every packet.
std::optional<Packet> FrameCursor::next_packet() {
  if (pending_) return std::exchange(pending_, std::nullopt);
  while (packets_.position() <= filter_.last) {
    stop_.check();
    const std::int64_t ordinal = packets_.position();
    std::optional<Packet> packet = packets_.next();
    if (!packet) return std::nullopt;
    if (ordinal == 0) first_dts_ = packet->dts;
    remember(*packet);
    if (!filter_.skips || !filter_.skips(ordinal)) return packet;
    linear_ = false;
  }
  return std::nullopt;
}

void FrameCursor::remember(const Packet& packet) {
  times_.push_back({packet.pts, packet.duration, packet.discard});
  if (times_.size() > remembered_packets) times_.pop_front();
}

std::optional<TaggedFrame> FrameCursor::next() {
  try {
    return decode_next();
  } catch (const DamagedPicture& damage) {
    const Times* times = times_of(damage.pts());
    throw DamagedPicture(damage, times ? times->pts : no_pts);
  }
}

std::optional<TaggedFrame> FrameCursor::decode_next() {
  while (true) {
    if (std::optional<Frame> frame = decoder_->receive()) {
      if (auto tagged = tag(std::move(*frame))) return tagged;
      continue;
    }
    if (decoder_->finished() || drained_) {
      check(gave_frames_ || !from_start_, ErrorCode::bad_data,
            "{}: no picture of stream {} ({}) can be decoded from {} packets", name_, stream().index,
            stream().codec, packets_.position());
      return std::nullopt;
    }
    std::optional<Packet> packet = next_packet();
    if (!packet) {
      drained_ = !decoder_->send(nullptr);
      continue;
    }
    Packet input = *packet;
    input.pts = packets_.position() - 1; // See Note [Frames by ordinal].
    input.dts = no_pts;
    if (!decoder_->send(&input)) pending_ = std::move(packet);
  }
}

const FrameCursor::Times* FrameCursor::times_of(std::int64_t ordinal) const {
  const std::int64_t oldest = packets_.position() - static_cast<std::int64_t>(times_.size());
  if (ordinal < oldest || ordinal >= packets_.position()) return nullptr;
  return &times_[static_cast<std::size_t>(ordinal - oldest)];
}

// Nothing for a frame that the container says not to show.
std::optional<TaggedFrame> FrameCursor::tag(Frame frame) {
  TaggedFrame tagged{std::move(frame), -1};
  const std::int64_t ordinal = tagged.frame.pts;
  tagged.frame.pts = no_pts;
  tagged.frame.duration = 0;
  gave_frames_ = true;
  const Times* times = times_of(ordinal);
  if (!times) return tagged;
  if (times->discard) return std::nullopt;
  tagged.ordinal = ordinal;
  tagged.frame.pts = times->pts;
  tagged.frame.duration = times->duration;
  return tagged;
}

void FrameCursor::forget() {
  times_.clear();
  pending_.reset();
  drained_ = false;
  filter_ = {};
}

void FrameCursor::restart() {
  packets_.restart();
  decoder_->reset(packets_.stream());
  forget();
  from_start_ = linear_ = true;
}

void FrameCursor::start_at(std::int64_t ordinal, const PacketTable& table, PacketFilter filter) {
  packets_.go_to(ordinal, table);
  if (begins_anew(table[ordinal].start))
    decoder_->flush();
  else
    decoder_->reset(packets_.stream());
  forget();
  from_start_ = linear_ = false;
  filter_ = std::move(filter);
}

void FrameCursor::set_filter(PacketFilter filter) {
  filter_ = std::move(filter);
}

} // namespace lanner
