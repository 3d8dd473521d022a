#pragma once
// Outputs of annotated images and clips.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/pipeline.h>
#include <lanner/transcode.h>
#include <lanner/video_writer.h>

#include "input/containers.h"
#include "input/files.h"
#include "input/inputs.h"
#include "output/byte_output.h"
#include "output/y4m_writer.h"

namespace lanner::tool {

/// Sets output, form and format of each input from -o and --format: the named file, standard output, numbered
/// images, or a file with the input's name in the named folder, numbered where names are equal. Throws
/// Error{invalid_argument, not_found}.
void place_outputs(const std::string& output, const std::string& format, std::vector<RunInput>& inputs);
/// Declares the outputs to `files`.
void declare_outputs(const std::vector<RunInput>& inputs, Files& files);

/// The encoder of annotated clips in a container, by FFmpeg's name: what `writing` leaves open is as usual in
/// it, and lossless encoders keep RGB.
EncoderOptions annotated_encoder(std::string_view container, const TranscodeOptions& writing);

/// Writes an annotated image. `to_disk` waits until it is on the disk, which costs more than writing it and
/// is of no use with many images.
void write_picture(const RunInput& input, const Image& marked, bool to_disk);
/// save_image() without that wait.
void save_picture(const std::string& path, const Image& image);

/// Annotated output of a clip: a clip, with the other streams of its input, or a numbered image of each
/// frame. Frames of another size than the first are treated as RunInput::writing says, and odd sizes padded
/// where chroma is halved; both are reported once.
class MarkedClip {
public:
  /// Reports whatever is wrong with the output before the work. `stream`: of the input clip.
  MarkedClip(const RunInput& input, const StreamInfo& stream, const FrameRange& range);

  void write(const Image& marked, const Frame& frame);
  void finish();

private:
  void open_clip();
  bool is_raw() const; ///< Raw pixels.
  void begin(const Image& first, const Frame& frame);
  EncoderOptions encoder() const;
  std::string format() const; ///< FFmpeg's name of the container; empty: its muxer knows.
  CopiedStreams copied(const Frame& first) const;
  Image fitted(const Image& marked, std::int64_t frame);
  std::int64_t length_of(const Frame& frame) const;

  const RunInput& input_;
  StreamInfo stream_;
  FrameRange range_;
  Rational rate_;
  const Container* container_ = nullptr;
  std::unique_ptr<ByteOutput> bytes_; ///< For streams, and containers that are not FFmpeg's.
  std::unique_ptr<Muxer> muxer_;      ///< For streams; unset until the first frame.
  std::optional<VideoWriter> writer_;
  std::optional<Y4mWriter> raw_;
  std::int32_t width_ = 0, height_ = 0; ///< Of the first frame.
  bool halves_chroma_ = false;          ///< So that odd sizes are padded.
  bool begun_ = false, padded_ = false, scaled_ = false;
};

} // namespace lanner::tool
