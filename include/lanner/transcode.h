#pragma once
// A clip decoded and encoded again, with what lies beside its pictures.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/encoder.h>
#include <lanner/source.h>
#include <lanner/video_reader.h>
#include <lanner/video_writer.h>

namespace lanner {

/// How far transcoding is.
struct TranscodeProgress {
  std::int64_t frames = 0; ///< Encoded.
  double total_frames = 0; ///< By the container; 0 where it does not say.
  double seconds = 0;      ///< Of the new clip.
  std::int64_t bytes = 0;  ///< Written.
  double elapsed = 0;      ///< Seconds of work.
  bool ended = false;
};

/// How close an encoded picture is to its source. PSNR in dB of each plane and of all samples, infinite where
/// they are equal; SSIM (Wang et al. 2004, over 8x8 pixels in steps of 4) likewise, 1 where they are equal.
struct FrameQuality {
  std::int64_t frame = 0; ///< In the new clip, from 0.
  double seconds = 0;
  std::vector<double> psnr, ssim; ///< Of each plane: Y, U, V or R, G, B.
  double psnr_all = 0, ssim_all = 0;
};

struct TranscodeOptions {
  /// An empty codec takes what the container holds and players show. Size, rate, times, shape of pixels and
  /// colours are those of the clip.
  EncoderOptions encoder = without_codec();
  std::optional<PixelFormat> format; ///< Nothing: the clip's own, or the nearest that the encoder takes.
  MuxerOptions muxer;
  VideoReaderOptions reader; ///< `rotate` and `format` are not used: see keep_rotation and `format`.
  SizeChange on_size_change = SizeChange::scale;
  /// Turned clips stay as they are stored, with the word to players to turn them. Else pictures come out
  /// upright, in their own depth.
  bool keep_rotation = false;
  /// Frames of two fields become whole pictures (FFmpeg's bwdif), one for each frame.
  bool deinterlace = false;
  /// What is copied beside the pictures, as it is.
  bool audio = true, subtitles = true, attachments = true, chapters = true, tags = true;
  bool quality = false; ///< Decode what was encoded and fill TranscodeResult::quality.
  bool conceal = false; ///< Go on behind a damaged frame.
  NoteCallback note;    ///< A line for each thing that was changed or left out.
  std::function<void(const TranscodeProgress&)> progress; ///< A few times a second and at the end.
  CancelToken cancel;

  static EncoderOptions without_codec() {
    EncoderOptions options;
    options.codec.clear();
    return options;
  }
};

struct TranscodeResult {
  std::int64_t frames = 0;
  double seconds = 0;
  std::int64_t bytes = 0;
  std::vector<std::string> paths; ///< More than one where SizeChange::segment began others.
  std::vector<FrameQuality> quality;
};

/// Writes clips of one source: all of it, or parts. Files appear whole or not at all: after an error or a
/// cancellation there is none. One thread at a time.
class Transcoder {
public:
  /// Throws as VideoReader does.
  explicit Transcoder(SourcePtr source, TranscodeOptions options = {});
  ~Transcoder();
  Transcoder(Transcoder&&) noexcept;
  Transcoder& operator=(Transcoder&&) noexcept;

  const StreamInfo& stream() const noexcept; ///< Of the pictures, as they are read.
  const Demuxer& demuxer() const noexcept;
  /// Writes what is shown from `start` to `end`, in seconds from the first frame on; the frame on the screen
  /// at `start` is the first. May be called again; of a source that cannot go back once. Throws what reading,
  /// encoding and writing throw, Error{cancelled}, and Error{invalid_argument} for a part without a frame.
  TranscodeResult write(const std::string& path, double start = 0,
                        double end = std::numeric_limits<double>::infinity());
  /// The same into a muxer, which is finished.
  TranscodeResult write(std::unique_ptr<Muxer> muxer, double start = 0,
                        double end = std::numeric_limits<double>::infinity());

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A whole clip in one call.
TranscodeResult transcode(SourcePtr source, const std::string& path, const TranscodeOptions& options = {});

/// A line of the values' names, and a line for each frame: comma-separated.
std::string quality_table(const std::vector<FrameQuality>& quality);
/// One line: means, and the worst frame.
std::string quality_summary(const std::vector<FrameQuality>& quality);

} // namespace lanner
