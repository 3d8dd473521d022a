#include <lanner/audio_reader.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/threads/sole_use.h"
#include "video/audio/audio_range.h"
#include "video/audio/audio_track.h"

namespace lanner {

namespace {

constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
/// Of blocks that the next range may begin in; a longer way back is decoded again.
constexpr std::int64_t most_kept_values = 4 << 20;
constexpr std::int32_t most_rate = 768'000, most_channels = 64;

void check_options(const AudioReaderOptions& options) {
  check(options.sample_rate == 0 || (options.sample_rate >= 100 && options.sample_rate <= most_rate),
        ErrorCode::invalid_argument,
        "AudioReader: sample_rate {}, expected 100 to {}, or 0 for the stream's own", options.sample_rate,
        most_rate);
  check(options.channels >= 0 && options.channels <= most_channels, ErrorCode::invalid_argument,
        "AudioReader: num_channels {}, expected 1 to {}, or 0 for the stream's own", options.channels,
        most_channels);
  check(options.dtype == DType::f32 || options.dtype == DType::i16 || options.dtype == DType::i32,
        ErrorCode::invalid_argument, "AudioReader: dtype {}, expected f32, i16 or i32",
        to_string(options.dtype));
  check(options.chunk_seconds > 0 && options.chunk_seconds < 1e9, ErrorCode::invalid_argument,
        "AudioReader: chunk_seconds {:g}, expected more than 0", options.chunk_seconds);
}

std::int64_t nearest(double sample) {
  return sample >= 9e18 ? no_end : std::max<std::int64_t>(0, std::llround(std::max(0.0, sample)));
}

} // namespace

struct AudioReader::State {
  State(SourcePtr source, const AudioReaderOptions& given, const Control& control)
      : options(given), track(checked(std::move(source)), given.demuxer, given.stream, &control) {
    const Watch watch{track};
    const DeadlineScope deadline(options.demuxer.limits, control.cancel);
    const AudioBlock* block = track.first_block();
    format = block ? block->format : audio_format(track.demuxer(), track.stream().index);
    target = {.sample_rate = options.sample_rate ? options.sample_rate : format.sample_rate,
              .channels = options.channels ? options.channels : format.channels,
              .dtype = options.dtype};
    if (block) rates.emplace(format.sample_rate, target.sample_rate);
    if (block && !rates->none())
      track.keep(std::min<std::int64_t>(rates->most_ahead(), most_kept_values / format.channels));
  }

  SourcePtr checked(SourcePtr source) const {
    check(source != nullptr, ErrorCode::invalid_argument, "AudioReader: no source was given");
    check_options(options);
    return source;
  }

  struct Watch {
    ~Watch() { track.watch(nullptr); }
    AudioTrack& track;
  };

  /// Calls `body()` for a caller that is alone with it.
  template<typename Body>
  auto alone(const Control& control, Body&& body) {
    const SoleUse::Call call(use);
    const DeadlineScope deadline(options.demuxer.limits, control.cancel);
    track.watch(&control);
    const Watch watch{track};
    return body();
  }

  AudioSamples samples(std::int64_t begin, std::int64_t end) {
    AudioSamples result;
    result.sample_rate = target.sample_rate;
    result.first = begin;
    result.data = read_range(track, target, begin, end, options.demuxer.limits);
    if (!rates) return result;
    const double first = rates->to_old(static_cast<double>(begin));
    result.pts_seconds = track.index().seconds_at(first);
    const double last = rates->to_old(static_cast<double>(begin + result.size()));
    const std::string* damage =
        track.index().damage_in(static_cast<std::int64_t>(first), static_cast<std::int64_t>(std::ceil(last)));
    check(!damage || !options.raise_on_error, ErrorCode::bad_data, "audio at {:.3f} s: {}",
          result.pts_seconds, damage ? *damage : "");
    result.damaged = damage != nullptr;
    return result;
  }

  /// The sample that is nearest to a time.
  std::int64_t sample_at(double seconds) {
    if (!rates || seconds == std::numeric_limits<double>::infinity()) return no_end;
    track.extend_to_time(seconds);
    if (track.index().is_complete() && !(seconds < track.index().end_seconds())) return no_end;
    return nearest(rates->to_new(track.index().sample_at(seconds)));
  }

  AudioSamples played_in(double begin, double end) {
    check(begin <= end, ErrorCode::invalid_argument,
          "AudioReader: range from {:g} to {:g} s, expected an end behind the begin", begin, end);
    const std::int64_t first = begin == -std::numeric_limits<double>::infinity() ? 0 : sample_at(begin);
    const std::int64_t last = begin == end ? first : sample_at(end);
    if (first == no_end) {
      const std::int64_t end_of_all = size();
      return samples(end_of_all, end_of_all);
    }
    return samples(first, last);
  }

  std::int64_t size() {
    if (count >= 0) return count;
    if (!rates) return count = 0;
    track.extend_to_sample(no_end);
    if (rates->none()) return count = track.index().samples();
    // The resampler says how many it gives at the end.
    constexpr std::int64_t some = 64;
    const std::int64_t from = std::max<std::int64_t>(
        0, nearest(rates->to_new(static_cast<double>(track.index().samples()))) - some);
    return count = from + read_range(track, target, from, no_end, options.demuxer.limits).shape()[1];
  }

  SoleUse use{"AudioReader"};
  AudioReaderOptions options;
  AudioTrack track;
  AudioFormat format;
  AudioTarget target;
  std::optional<RateChange> rates; ///< Nothing for a stream without a sample.
  std::int64_t next = 0, count = -1;
};

AudioReader::AudioReader(SourcePtr source, const AudioReaderOptions& options, const Control& control)
    : state_(std::make_unique<State>(std::move(source), options, control)) {}
AudioReader::~AudioReader() = default;
AudioReader::AudioReader(AudioReader&&) noexcept = default;
AudioReader& AudioReader::operator=(AudioReader&&) noexcept = default;

const StreamInfo& AudioReader::stream() const noexcept {
  return state_->track.stream();
}
const Demuxer& AudioReader::demuxer() const noexcept {
  return state_->track.demuxer();
}
const AudioFormat& AudioReader::format() const noexcept {
  return state_->format;
}
std::int32_t AudioReader::sample_rate() const noexcept {
  return state_->target.sample_rate;
}
std::int32_t AudioReader::channels() const noexcept {
  return state_->target.channels;
}

std::int64_t AudioReader::size(const Control& control) {
  return state_->alone(control, [&] { return state_->size(); });
}

AudioSamples AudioReader::read(double begin, double end, const Control& control) {
  return state_->alone(control, [&] { return state_->played_in(begin, end); });
}

AudioSamples AudioReader::read_samples(std::int64_t begin, std::int64_t end, const Control& control) {
  check(begin >= 0 && begin <= end, ErrorCode::invalid_argument,
        "AudioReader: samples {} to {}, expected numbers from 0 on, in order", begin, end);
  return state_->alone(control, [&] { return state_->samples(begin, end); });
}

std::optional<AudioSamples> AudioReader::next(const Control& control) {
  return state_->alone(control, [&]() -> std::optional<AudioSamples> {
    const auto count =
        std::max<std::int64_t>(1, std::llround(state_->options.chunk_seconds * state_->target.sample_rate));
    AudioSamples chunk = state_->samples(state_->next, state_->next + count);
    if (chunk.size() == 0) return std::nullopt;
    state_->next += chunk.size();
    return chunk;
  });
}

void AudioReader::rewind() {
  const SoleUse::Call call(state_->use);
  state_->next = 0;
}

} // namespace lanner
