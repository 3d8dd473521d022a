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

/// Samples from `first` on.
Tensor behind(const Tensor& samples, std::int64_t first) {
  const std::int64_t channels = samples.shape()[0], count = samples.shape()[1];
  Tensor rest = Tensor::allocate(samples.dtype(), {channels, count - first});
  const std::size_t size = bit_width(samples.dtype()) / 8;
  const auto bytes = static_cast<std::size_t>(count - first) * size;
  for (std::int64_t channel = 0; channel < channels; ++channel)
    std::memcpy(static_cast<std::byte*>(rest.data()) + static_cast<std::size_t>(channel) * bytes,
                static_cast<const std::byte*>(samples.data()) +
                    static_cast<std::size_t>(channel * count + first) * size,
                bytes);
  return rest;
}

} // namespace

AudioOutput::AudioOutput(const AudioEncoderOptions& options, NoteCallback note)
    : options_(options), note_(std::move(note)) {
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

void AudioOutput::declare(Muxer& muxer, double origin) {
  origin_ = origin;
  if (options_.codec.empty()) options_.codec = audio_codec_for_format(muxer.format());
  encoder_ = create_audio_encoder(options_, muxer.wants_global_header());
  if (encoder_->sample_rate() != options_.sample_rate)
    tell(fmt::format("audio: resampled from {} to {} Hz, as {} has no other", options_.sample_rate,
                     encoder_->sample_rate(), options_.codec));
  stream_ = muxer.add_stream(encoder_->stream());
  while (!waiting_.empty()) {
    const Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    append(first.samples, first.seconds);
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
  const Tensor plain = samples.layout().row_major() && encoder_ ? samples : samples.clone();
  if (encoder_)
    append(plain, seconds);
  else
    waiting_.push_back({plain, seconds});
}

/// How many samples are left out in front, after silence up to a time.
std::int64_t AudioOutput::place(std::int64_t count, double seconds) {
  const double rate = options_.sample_rate;
  const double at = seconds - origin_;
  const double gap = at - static_cast<double>(next_) / rate;
  check(std::abs(gap) < most_gap_seconds, ErrorCode::invalid_argument,
        "write_audio: audio at {:.3f} s, the audio before ends at {:.3f} s; expected no gap of a day", at,
        static_cast<double>(next_) / rate);
  if (gap > jitter_seconds) append_silence(std::llround(gap * rate));
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

void AudioOutput::append_silence(std::int64_t samples) {
  constexpr std::int64_t at_once = 1 << 16;
  while (samples > 0) {
    const std::int64_t count = std::min(samples, at_once);
    encode(Tensor::zeros(DType::f32, {options_.channels, count}));
    samples -= count;
  }
}

void AudioOutput::append(const Tensor& samples, std::optional<double> seconds) {
  const std::int64_t left_out = seconds ? place(samples.shape()[1], *seconds) : 0;
  if (left_out == samples.shape()[1]) return;
  encode(left_out > 0 ? behind(samples, left_out) : samples);
}

void AudioOutput::encode(const Tensor& samples) {
  encoder_->take(samples);
  next_ += samples.shape()[1];
  while (std::optional<Packet> packet = encoder_->receive()) packets_.push_back(std::move(*packet));
}

void AudioOutput::write_until(Muxer& muxer, double seconds) {
  const Rational& base = encoder_->stream().time_base;
  while (!packets_.empty() && seconds_of(packets_.front().pts, base) <= seconds) {
    Packet packet = std::move(packets_.front());
    packets_.pop_front();
    packet.stream = stream_;
    muxer.write(packet);
  }
}

void AudioOutput::finish(Muxer& muxer) {
  encoder_->finish();
  while (std::optional<Packet> packet = encoder_->receive()) packets_.push_back(std::move(*packet));
  write_until(muxer, std::numeric_limits<double>::infinity());
}

} // namespace lanner
