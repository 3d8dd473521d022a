#pragma once
// Audio that is encoded into files beside their pictures.

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/muxer.h>
#include <lanner/video_writer.h>

#include "video/audio/audio_encoder.h"

namespace lanner {

/// The samples follow each other without a gap; silence is put in where there is one. A file that is divided
/// where the size of its pictures changes has an encoder for each part, and what is heard is divided there.
class AudioOutput {
public:
  /// `divided`: more files may begin, so samples are kept until the pictures of their time are written.
  /// Throws Error{invalid_argument} for values that make no sense.
  AudioOutput(const AudioEncoderOptions& options, bool divided, NoteCallback note);

  /// Opens an encoder for the file of `muxer`, which has to live until finish(), and declares its stream,
  /// before the first packet is written. The file begins at `begin` seconds of the output, the one before it
  /// ends there. `origin`: seconds of the pictures' clock at 0 of the output, of the first call.
  void declare(Muxer& muxer, double origin, double begin);
  /// Appends samples; a copy of them is kept where they wait. See VideoWriter::write_audio().
  void take(const Tensor& samples, std::optional<double> seconds);
  /// Pictures are written up to `seconds` of the output: writes the packets before it.
  void write_until(double seconds);
  /// Ends the streams and writes all that is left.
  void finish();

  std::int32_t sample_rate() const noexcept { return options_.sample_rate; }

private:
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

  /// Before the first declare().
  struct Waiting {
    Tensor samples;
    std::optional<double> seconds;
  };
  /// Not yet encoded; silence without `samples`.
  struct Held {
    Tensor samples;
    std::int64_t count = 0;
  };
  /// The stream of one file; `begin` and `end` are samples of the output.
  struct Part {
    Muxer* muxer = nullptr;
    std::unique_ptr<AudioEncoder> encoder;
    int stream = -1;
    std::int64_t begin = 0, end = endless;
    std::deque<Packet> packets;
  };
  void check_samples(const Tensor& samples) const;
  void append(const Tensor& samples, std::optional<double> seconds);
  std::int64_t place(std::int64_t count, double seconds);
  void hold(Held held);
  void encode_until(std::int64_t end);
  void encode(Part& part, const Tensor& samples);
  void end_part(Part& part);
  void write_packets(Part& part, double seconds);
  std::int64_t samples_at(double seconds) const;
  void tell(const std::string& line) const;

  AudioEncoderOptions options_;
  bool divided_;
  NoteCallback note_;
  double origin_ = 0;
  std::deque<Waiting> waiting_;
  std::deque<Held> held_;
  std::int64_t used_ = 0; ///< Samples of the first of `held_` that are encoded.
  std::vector<Part> parts_;
  std::size_t filled_ = 0;   ///< The part that takes the next samples.
  std::int64_t next_ = 0;    ///< Where the next sample is in the output, in samples.
  std::int64_t encoded_ = 0; ///< Samples of the output that are encoded.
  std::int64_t settled_ = 0; ///< Samples of the output that belong to the parts there are.
  bool told_moved_ = false, told_cut_ = false;
};

} // namespace lanner
