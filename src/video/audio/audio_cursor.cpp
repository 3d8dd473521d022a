#include "video/audio/audio_cursor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lanner {

namespace {

/// Packets between the one that a seek lands on and the one that was asked for.
constexpr int most_packets_skipped = 4096;
/// Packets whose blocks have not come yet.
constexpr std::size_t most_packets_sent = 256;

/// Sought by time, else by byte: times are not known then.
bool is_at(const Packet& packet, const PacketPlace& place, bool by_byte) {
  return packet.pos == place.pos && (by_byte || packet.pts == place.pts);
}

PacketPlace place_of_packet(const Packet& packet) {
  return {packet.pts, packet.pos};
}

} // namespace

AudioCursor::AudioCursor(SourcePtr source, const DemuxerOptions& options, int stream)
    : source_(std::move(source)), options_(options) {
  open(stream);
}

void AudioCursor::open(int stream) {
  demuxer_ = open_demuxer(source_, options_);
  const auto streams = static_cast<int>(demuxer_->streams().size());
  stream_ = stream < 0 ? best_audio(*demuxer_) : stream;
  check(stream_ >= 0, ErrorCode::invalid_argument, "{}: there is no audio in it", source_->name());
  check(stream_ < streams, ErrorCode::invalid_argument, "{}: no stream {}; there are {}", source_->name(),
        stream_, streams);
  check(this->stream().kind == "audio", ErrorCode::invalid_argument, "{}: stream {} is {}, not audio",
        source_->name(), stream_, this->stream().kind);
  demuxer_->select(std::span(&stream_, 1));
  decoder_ = create_audio_decoder(this->stream(), options_.limits);
  packets_ = target_packet_ = last_packet_ = 0;
  sent_.clear();
  waiting_.reset();
  entered_.reset();
  place_.reset();
  target_.reset();
  ended_ = false;
  damage_.clear();
}

void AudioCursor::restart() {
  check(source_->seekable(), ErrorCode::unsupported,
        "{}: its audio comes once, as it cannot be read from its beginning again; expected a file or bytes",
        source_->name());
  open(stream_);
}

std::string AudioCursor::take_damage() {
  const std::string decoding = decoder_->take_damage();
  if (damage_.empty()) return decoding;
  return std::exchange(damage_, {});
}

std::optional<Packet> AudioCursor::read() {
  if (ended_) return std::nullopt;
  try {
    while (std::optional<Packet> packet = demuxer_->next())
      if (packet->stream == stream_ && !packet->bytes.empty()) return packet;
    damage_ = demuxer_->damage();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_data) throw;
    damage_ = error.message(); // What cannot be read on ends there.
  }
  ended_ = true;
  return std::nullopt;
}

void AudioCursor::send(const Packet& packet) {
  const bool is_target = target_ && target_packet_ == 0 && is_at(packet, *target_, by_byte_);
  const bool before_target = target_ && target_packet_ == 0 && !is_target;
  if (!decoder_->send(&packet, packets_ + 1, !before_target)) {
    waiting_ = packet;
    return;
  }
  ++packets_;
  if (is_target) target_packet_ = packets_;
  sent_.push_back({packets_, place_of_packet(packet)});
  if (sent_.size() > most_packets_sent) sent_.pop_front();
}

void AudioCursor::feed() {
  std::optional<Packet> packet = waiting_ ? std::exchange(waiting_, std::nullopt) : read();
  if (packet)
    send(*packet);
  else
    decoder_->send(nullptr, 0, true);
}

std::optional<AudioBlock> AudioCursor::decode() {
  while (true) {
    if (std::optional<AudioBlock> block = decoder_->receive()) {
      if (block->samples > 0) return block;
      continue;
    }
    if (decoder_->finished()) return std::nullopt;
    options_.cancel.check(); // And the deadline of the call.
    if (control_)
      control_->report({.stage = "decode", .done = static_cast<double>(packets_), .unit = "packets"});
    feed();
  }
}

std::optional<PacketPlace> AudioCursor::place_of(std::int64_t packet) {
  if (packet == 0) return std::nullopt;
  while (!sent_.empty() && sent_.front().number < packet) sent_.pop_front();
  if (sent_.empty() || sent_.front().number != packet) return std::nullopt;
  return sent_.front().place;
}

std::optional<AudioBlock> AudioCursor::next() {
  if (entered_) return std::exchange(entered_, std::nullopt);
  std::optional<AudioBlock> block = decode();
  if (!block) return std::nullopt;
  // Of several blocks of one packet decoding can be led to the first one.
  place_ = block->packet == last_packet_ ? std::nullopt : place_of(block->packet);
  last_packet_ = block->packet;
  return block;
}

bool AudioCursor::go_to(const PacketPlace& from) {
  if (by_byte_)
    demuxer_->seek_to_byte(from.pos);
  else
    demuxer_->seek(stream_, from.pts);
  for (int i = 0; i < most_packets_skipped; ++i) {
    std::optional<Packet> packet = read();
    if (!packet || (!by_byte_ && packet->pts != no_pts && packet->pts > from.pts)) return false;
    if (!is_at(*packet, from, by_byte_)) continue;
    waiting_ = std::move(packet);
    return true;
  }
  return false;
}

bool AudioCursor::enter(const PacketPlace& from, const PacketPlace& target) {
  if (!source_->seekable()) return false;
  // Without times of its own a stream is sought by reading it from its beginning on, unless by byte.
  by_byte_ = stream().start_pts == no_pts && from.pos >= 0 && target.pos > from.pos;
  return enter_by(from, target) || (std::exchange(by_byte_, false) && enter_by(from, target));
}

bool AudioCursor::enter_by(const PacketPlace& from, const PacketPlace& target) {
  try {
    ended_ = false;
    entered_.reset();
    waiting_.reset();
    sent_.clear();
    packets_ = target_packet_ = last_packet_ = 0;
    target_ = target;
    decoder_ = create_audio_decoder(stream(), options_.limits);
    if (!go_to(from)) return false;
    while (std::optional<AudioBlock> block = decode()) {
      if (target_packet_ == 0 || block->packet < target_packet_) continue;
      entered_ = std::move(block);
      break;
    }
    static_cast<void>(take_damage());
    return entered_ && entered_->packet == target_packet_;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::bad_data) throw;
    return false;
  }
}

} // namespace lanner
