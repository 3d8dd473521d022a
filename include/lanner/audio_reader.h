#pragma once
// Audio of a clip by time and by sample.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <lanner/cancel.h>
#include <lanner/demuxer.h>
#include <lanner/dtype.h>
#include <lanner/source.h>
#include <lanner/tensor.h>

namespace lanner {

/// How the samples of a stream are stored.
struct AudioFormat {
  std::int32_t sample_rate = 0; ///< Samples a second of each channel; 0 when unknown.
  std::int32_t channels = 0;    ///< 0 when unknown.
  std::string channel_layout;   ///< FFmpeg's name: `mono`, `stereo`, `5.1(side)`.
  std::string sample_format;    ///< FFmpeg's name of what decoding gives: `fltp`, `s16`.
  friend bool operator==(const AudioFormat&, const AudioFormat&) = default;
};
/// What a container says of an audio stream; decoding may differ. Throws Error{invalid_argument} for a stream
/// that is not audio.
AudioFormat audio_format(const Demuxer& demuxer, int stream);
/// The audio stream that a player would play, -1 when there is none.
int best_audio(const Demuxer& demuxer);

/// Consecutive samples of a stream.
struct AudioSamples {
  Tensor data;            ///< [channels, samples] in host memory: f32 from -1 to 1, i16 or i32.
  std::int64_t first = 0; ///< Number of the first sample in the stream, counted at `sample_rate`.
  double pts_seconds = 0; ///< When the first sample is heard, on the clock of Frame::seconds().
  std::int32_t sample_rate = 0;
  bool damaged = false; ///< Something in this range could not be decoded and is left out.

  std::int64_t size() const { return data.defined() ? data.shape()[1] : 0; }
  double duration_seconds() const {
    return sample_rate > 0 ? static_cast<double>(size()) / sample_rate : 0.0;
  }
};

struct AudioReaderOptions {
  int stream = -1; ///< -1 takes best_audio().
  DemuxerOptions demuxer;
  std::int32_t sample_rate = 0; ///< Resample to it by libswresample; 0: the stream's own.
  std::int32_t channels = 0;    ///< Mix to so many by libswresample; 0: the stream's own.
  DType dtype = DType::f32;     ///< f32, i16 or i32.
  double chunk_seconds = 1;     ///< What next() returns at a time, more than 0.
  /// Damage in a range that is read is Error{bad_data}. If false, what cannot be decoded is left out, and
  /// AudioSamples::damaged says so.
  bool raise_on_error = false;
};

/// Samples of one audio stream. They are those that `ffmpeg -i CLIP -f f32le` writes, bit by bit, whatever
/// was read before: without encoder delay and padding (edit lists, gapless tags) where FFmpeg leaves these
/// out. A gap in the stream's times is no silence: the samples behind it follow those before.
/// The first pass over the stream decodes it up to the range that is asked for and keeps a digest of each
/// decoded block; ranges behind are then reached by seeking, and digests prove that the samples are the same:
/// see docs/video.md. Memory is bounded by the range, not by the stream. Passive, used by one thread at a
/// time; owns no threads. Limits::seconds bounds each call.
class AudioReader {
public:
  /// Throws Error{invalid_argument} for a source without audio, Error{bad_data, unsupported, ...} as
  /// open_demuxer() does. Decodes the first samples.
  explicit AudioReader(SourcePtr source, const AudioReaderOptions& options = {}, const Control& control = {});
  ~AudioReader();
  AudioReader(AudioReader&&) noexcept;
  AudioReader& operator=(AudioReader&&) noexcept;

  const StreamInfo& stream() const noexcept;
  const Demuxer& demuxer() const noexcept;
  const AudioFormat& format() const noexcept; ///< Of the stream as it is decoded.
  std::int32_t sample_rate() const noexcept;  ///< Of the samples that are returned.
  std::int32_t channels() const noexcept;     ///< Of the samples that are returned.

  /// Exact number of samples at sample_rate(). The first call decodes the stream to its end.
  std::int64_t size(const Control& control = {});
  /// Samples that are heard in [begin, end) seconds of the stream's own clock, as Frame::seconds(): from the
  /// sample that is nearest to `begin` up to the one before that nearest to `end`, so that adjoining ranges
  /// neither share nor miss a sample. Parts outside of the stream are left out; the result may be empty.
  AudioSamples read(double begin = -std::numeric_limits<double>::infinity(),
                    double end = std::numeric_limits<double>::infinity(), const Control& control = {});
  /// Samples by their numbers, from `begin` up to but not including `end`; those behind the stream's end are
  /// left out.
  AudioSamples read_samples(std::int64_t begin, std::int64_t end, const Control& control = {});
  /// The next AudioReaderOptions::chunk_seconds of samples, the last time fewer; nothing at the end.
  std::optional<AudioSamples> next(const Control& control = {});
  /// next() continues at the first sample.
  void rewind();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
