#pragma once
// Where marked pictures and clips go.

#include <optional>
#include <string>
#include <vector>

#include <lanner/pipeline.h>

#include "input/clip_times.h"
#include "input/containers.h"
#include "input/files.h"
#include "input/inputs.h"
#include "output/byte_output.h"
#include "output/clip_output.h"
#include "output/y4m_writer.h"

namespace lanner::tool {

/// Fills in output, form and format of each input by -o and --format: the file named, standard output,
/// numbered pictures, or a file of the input's name in the folder named, numbered where two have one name.
/// Throws Error{invalid_argument, not_found}.
void place_outputs(const std::string& output, const std::string& format, std::vector<RunInput>& inputs);
/// Declares them.
void declare_outputs(const std::vector<RunInput>& inputs, Files& files);

/// Writes the marked form of a picture. `to_disk` waits until the disk has it, which costs more than writing
/// it: of many pictures nobody is served by it.
void write_picture(const RunInput& input, const Image& marked, bool to_disk);
/// As save_image(), without that wait.
void save_picture(const std::string& path, const Image& image);

/// The marked form of a clip: a clip, or a numbered picture of each frame. Pictures of another size than the
/// first are scaled to it, and odd sizes padded where chroma is halved; both are told once.
class MarkedClip {
public:
  /// Whatever is wrong with the place is told here, before the work. `stream` is of the clip that it follows.
  MarkedClip(const RunInput& input, const StreamInfo& stream, const FrameRange& range);

  void write(const Image& marked, const Frame& frame);
  void finish();

private:
  void open_clip();
  bool is_raw() const; ///< Pixels as they are.
  void begin(const Image& first);
  Image fitted(const Image& marked, std::int64_t frame);
  std::int64_t length_of(const Frame& frame) const;
  std::int64_t time_of(const Frame& frame);

  const RunInput& input_;
  StreamInfo stream_;
  FrameRange range_;
  const Container* container_ = nullptr;
  std::unique_ptr<ByteOutput> bytes_; ///< Of what is no file, or no container of FFmpeg's.
  std::unique_ptr<Muxer> muxer_;      ///< Until the first picture.
  std::optional<ClipOutput> clip_;
  std::optional<ClipTimes> times_;
  std::optional<Y4mWriter> raw_;
  std::int32_t width_ = 0, height_ = 0; ///< Of the first picture.
  bool padded_ = false, scaled_ = false;
  std::int64_t first_pts_ = no_pts;
};

} // namespace lanner::tool
