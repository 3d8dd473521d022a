#include "video/write/audio_output.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace lanner {

namespace {

constexpr std::int32_t most_rate = 768'000, most_channels = 64;
/// A longer gap is a wrong time.
constexpr double most_gap_seconds = 24 * 3600;
/// Times are rounded to the ticks of containers.
constexpr double jitter_seconds = 0.002;

/// `count` samples from `first` on.
Tensor part_of(const Tensor& samples, std::int64_t first, std::int64_t count) {
  const std::int64_t channels = samples.shape()[0], all = samples.shape()[1];
  if (first == 0 && count == all) return samples;
  Tensor part = Tensor::allocate(samples.dtype(), {channels, count});
  const std::size_t size = bit_width(samples.dtype()) / 8;
  const auto bytes = static_cast<std::size_t>(count) * size;
  for (std::int64_t channel = 0; channel < channels; ++channel)
    std::memcpy(static_cast<std::byte*>(part.data()) + static_cast<std::size_t>(channel) * bytes,
                static_cast<const std::byte*>(samples.data()) +
                    static_cast<std::size_t>(channel * all + first) * size,
                bytes);
  return part;
}

} // namespace

AudioOutput::AudioOutput(const AudioEncoderOptions& options, bool divided, NoteCallback note)
    : options_(options), divided_(divided), note_(std::move(note)), settled_(divided ? 0 : endless) {
  check(options.sample_rate >= 100 && options.sample_rate <= most_rate, ErrorCode::invalid_argument,
        "audio: sample rate {}, expected 100 to {}", options.sample_rate, most_rate);
  check(options.channels >= 1 && options.channels <= most_channels, ErrorCode::invalid_argument,
        "audio: {} channels, expected 1 to {}", options.channels, most_channels);
  check(options.bit_rate >= 0 && options.bit_rate <= 100'000'000, ErrorCode::invalid_argument,
        "audio: bit rate {}, expected 0 to 100000000", options.bit_rate);
}

void AudioOutput::tell(const std::string& line) const {
  if (note_) note_(line);
}

std::int64_t AudioOutput::samples_at(double seconds) const {
  return std::max<std::int64_t>(0, std::llround(seconds * options_.sample_rate));
}

void AudioOutput::declare(Muxer& muxer, double origin, double begin) {
  const bool first = parts_.empty();
  if (first) origin_ = origin;
  if (options_.codec.empty()) options_.codec = audio_codec_for_format(muxer.format());
  Part part;
  part.muxer = &muxer;
  part.encoder = create_audio_encoder(options_, muxer.wants_global_header());
  if (first && part.encoder->sample_rate() != options_.sample_rate)
    tell(fmt::format("audio: resampled from {} to {} Hz, as {} has no other", options_.sample_rate,
                     part.encoder->sample_rate(), options_.codec));
  part.stream = muxer.add_stream(part.encoder->stream());
  if (!first) {
    part.begin = parts_.back().end = std::max(samples_at(begin), encoded_);
    settled_ = part.begin;
    encode_until(settled_);
  }
  parts_.push_back(std::move(part));
  while (!waiting_.empty()) {
    const Waiting before = std::move(waiting_.front());
    waiting_.pop_front();
    append(before.samples, before.seconds);
  }
}

void AudioOutput::check_samples(const Tensor& samples) const {
  check(samples.defined() && samples.rank() == 2, ErrorCode::invalid_argument,
        "write_audio: a tensor of shape {}, expected [channels, samples]", samples.shape().to_string());
  check(samples.shape()[0] == options_.channels, ErrorCode::invalid_argument,
        "write_audio: {} channels, expected {}", samples.shape()[0], options_.channels);
  check(samples.dtype() == DType::f32 || samples.dtype() == DType::i16 || samples.dtype() == DType::i32,
        ErrorCode::invalid_argument, "write_audio: samples of {}, expected f32, i16 or i32",
        to_string(samples.dtype()));
  check(samples.device() == Device{}, ErrorCode::invalid_argument,
        "write_audio: samples on {}, expected host memory", samples.device().to_string());
}

void AudioOutput::take(const Tensor& samples, std::optional<double> seconds) {
  check_samples(samples);
  check(!seconds || std::isfinite(*seconds), ErrorCode::invalid_argument,
        "write_audio: seconds {}, expected a time", seconds.value_or(0));
  const bool at_once = !parts_.empty() && !divided_; // Else the caller may change them before.
  const Tensor plain = samples.layout().row_major() && at_once ? samples : samples.clone();
  if (parts_.empty())
    waiting_.push_back({plain, seconds});
  else
    append(plain, seconds);
}

/// How many samples are left out in front, after silence up to a time.
std::int64_t AudioOutput::place(std::int64_t count, double seconds) {
  const double rate = options_.sample_rate;
  const double at = seconds - origin_;
  const double gap = at - static_cast<double>(next_) / rate;
  check(std::abs(gap) < most_gap_seconds, ErrorCode::invalid_argument,
        "write_audio: audio at {:.3f} s, the audio before ends at {:.3f} s; expected no gap of a day", at,
        static_cast<double>(next_) / rate);
  if (gap > jitter_seconds) hold({{}, std::llround(gap * rate)});
  if (gap >= -jitter_seconds) return 0;
  if (next_ == 0) {
    if (!std::exchange(told_cut_, true))
      tell(fmt::format("audio: {:.3f} s before the beginning of the file are left out", -at));
    return std::min<std::int64_t>(count, std::llround(-at * rate));
  }
  if (!std::exchange(told_moved_, true))
    tell(fmt::format("audio at {:.3f} s begins before the end of the audio before, {:.3f} s; it is moved "
                     "behind it",
                     at, static_cast<double>(next_) / rate));
  return 0;
}

void AudioOutput::append(const Tensor& samples, std::optional<double> seconds) {
  const std::int64_t count = samples.shape()[1];
  const std::int64_t left_out = seconds ? place(count, *seconds) : 0;
  if (left_out == count) return;
  hold({part_of(samples, left_out, count - left_out), count - left_out});
}

void AudioOutput::hold(Held held) {
  next_ += held.count;
  held_.push_back(std::move(held));
  encode_until(settled_);
}

/// What waits, each part's own samples into its encoder.
void AudioOutput::encode_until(std::int64_t end) {
  constexpr std::int64_t silence_at_once = 1 << 16;
  while (!held_.empty() && encoded_ < end) {
    Part& part = parts_[filled_];
    if (encoded_ == part.end) {
      end_part(part);
      ++filled_;
      continue;
    }
    const Held& first = held_.front();
    std::int64_t count = std::min({first.count - used_, end - encoded_, part.end - encoded_});
    if (!first.samples.defined()) count = std::min(count, silence_at_once);
    encode(part, first.samples.defined() ? part_of(first.samples, used_, count)
                                         : Tensor::zeros(DType::f32, {options_.channels, count}));
    encoded_ += count;
    used_ += count;
    if (used_ < first.count) continue;
    held_.pop_front();
    used_ = 0;
  }
}

void AudioOutput::encode(Part& part, const Tensor& samples) {
  part.encoder->take(samples);
  while (std::optional<Packet> packet = part.encoder->receive()) part.packets.push_back(std::move(*packet));
}

void AudioOutput::end_part(Part& part) {
  part.encoder->finish();
  while (std::optional<Packet> packet = part.encoder->receive()) part.packets.push_back(std::move(*packet));
  write_packets(part, std::numeric_limits<double>::infinity());
}

/// Those before `seconds` of the output.
void AudioOutput::write_packets(Part& part, double seconds) {
  const Rational& base = part.encoder->stream().time_base;
  const double begin = static_cast<double>(part.begin) / options_.sample_rate;
  while (!part.packets.empty() && begin + seconds_of(part.packets.front().pts, base) <= seconds) {
    Packet packet = std::move(part.packets.front());
    part.packets.pop_front();
    packet.stream = part.stream;
    part.muxer->write(packet);
  }
}

void AudioOutput::write_until(double seconds) {
  if (divided_) settled_ = std::max(settled_, samples_at(seconds));
  encode_until(settled_);
  // The pictures of the parts before are written.
  for (std::size_t i = filled_; i + 1 < parts_.size(); ++i)
    write_packets(parts_[i], std::numeric_limits<double>::infinity());
  write_packets(parts_.back(), seconds);
}

void AudioOutput::finish() {
  encode_until(endless);
  for (; filled_ < parts_.size(); ++filled_) end_part(parts_[filled_]);
}

} // namespace lanner
