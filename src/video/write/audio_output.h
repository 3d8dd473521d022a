#pragma once
// Audio that is encoded into a file beside its pictures.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <lanner/muxer.h>
#include <lanner/video_writer.h>

#include "video/audio/audio_encoder.h"

namespace lanner {

class AudioOutput {
public:
  /// Throws Error{invalid_argument} for values that make no sense.
  AudioOutput(const AudioEncoderOptions& options, NoteCallback note);

  /// Opens the encoder and declares its stream, before the first packet is written. `origin`: seconds of the
  /// pictures' clock at 0 of the file.
  void declare(Muxer& muxer, double origin);
  /// Appends samples; before declare() a copy of them is kept. See VideoWriter::write_audio().
  void take(const Tensor& samples, std::optional<double> seconds);
  /// Writes the packets of before `seconds` of the file.
  void write_until(Muxer& muxer, double seconds);
  /// Ends the stream and writes all that is left.
  void finish(Muxer& muxer);

  std::int32_t sample_rate() const noexcept { return options_.sample_rate; }

private:
  struct Waiting {
    Tensor samples;
    std::optional<double> seconds;
  };
  void check_samples(const Tensor& samples) const;
  void append(const Tensor& samples, std::optional<double> seconds);
  void append_silence(std::int64_t samples);
  std::int64_t place(std::int64_t count, double seconds);
  void encode(const Tensor& samples);
  void tell(const std::string& line) const;

  AudioEncoderOptions options_;
  NoteCallback note_;
  std::unique_ptr<AudioEncoder> encoder_; ///< Null before declare().
  int stream_ = -1;
  double origin_ = 0;
  std::deque<Waiting> waiting_;
  std::deque<Packet> packets_;
  std::int64_t next_ = 0; ///< Where the next sample is in the file, in samples.
  bool told_moved_ = false, told_cut_ = false;
};

} // namespace lanner
