#pragma once
// Transcoding: a clip's video is decoded and encoded again, its other streams are copied.

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

/// Progress of transcoding.
struct TranscodeProgress {
  std::int64_t frames = 0; ///< Encoded.
  double total_frames = 0; ///< According to the container; 0 if it does not say.
  double seconds = 0;      ///< Of the output.
  std::int64_t bytes = 0;  ///< Written.
  double elapsed = 0;      ///< Seconds since the start.
  bool ended = false;
};

/// Similarity of an encoded picture to its source, for each plane and for all samples: PSNR in dB, infinite
/// for equal pictures, and SSIM (Wang et al. 2004, over 8x8 pixels in steps of 4), 1 for equal pictures.
struct FrameQuality {
  std::int64_t frame = 0; ///< In the new clip, from 0.
  double seconds = 0;
  std::vector<double> psnr, ssim; ///< Of each plane: Y, U, V or R, G, B.
  double psnr_all = 0, ssim_all = 0;
};

struct TranscodeOptions {
  /// An empty codec: the codec that is usual in the container and that players support. Size, rate, times,
  /// pixel aspect ratio and colours are those of the clip.
  EncoderOptions encoder = without_codec();
  std::optional<PixelFormat> format; ///< Unset: the clip's own, or the nearest that the encoder supports.
  MuxerOptions muxer;
  /// These members have no effect: rotate, format, preprocess, decoder.{output,sei,raise_on_error}.
  VideoReaderOptions reader;
  SizeChange on_size_change = SizeChange::scale;
  /// Encode the frames of rotated clips as they are stored, and write the rotation into the container. If
  /// false, frames are rotated upright, at their own bit depth.
  bool keep_rotation = false;
  /// Deinterlace interlaced frames (FFmpeg's bwdif), with one output frame for each input frame.
  bool deinterlace = false;
  /// The streams and data that are copied unchanged.
  bool audio = true, subtitles = true, attachments = true, chapters = true, tags = true;
  bool quality = false; ///< Decode the output and fill TranscodeResult::quality.
  bool conceal = false; ///< Conceal damaged frames and continue; if false, damage is an error.
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
  std::vector<std::string> paths; ///< More than one with SizeChange::segment.
  std::vector<FrameQuality> quality;
};

/// Transcodes one source, as a whole or in parts. A file appears only when it is complete, and not after an
/// error or a cancellation. Used by one thread at a time.
class Transcoder {
public:
  /// Throws as VideoReader does.
  explicit Transcoder(SourcePtr source, TranscodeOptions options = {});
  ~Transcoder();
  Transcoder(Transcoder&&) noexcept;
  Transcoder& operator=(Transcoder&&) noexcept;

  const StreamInfo& stream() const noexcept; ///< The clip's video stream, as stored.
  const Demuxer& demuxer() const noexcept;
  /// Writes what is shown from `start` to `end`, in seconds from the first frame; the first frame written is
  /// the one shown at `start`. May be called again if the source is seekable. Throws what reading, encoding
  /// and writing throw, Error{cancelled}, and Error{invalid_argument} for a part without a frame.
  TranscodeResult write(const std::string& path, double start = 0,
                        double end = std::numeric_limits<double>::infinity());
  /// The same into a muxer, which it finishes.
  TranscodeResult write(std::unique_ptr<Muxer> muxer, double start = 0,
                        double end = std::numeric_limits<double>::infinity());

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A whole clip in one call.
TranscodeResult transcode(SourcePtr source, const std::string& path, const TranscodeOptions& options = {});

/// CSV: a line of column names, then a line for each frame.
std::string quality_table(const std::vector<FrameQuality>& quality);
/// One line: means, and the worst frame.
std::string quality_summary(const std::vector<FrameQuality>& quality);

} // namespace lanner
