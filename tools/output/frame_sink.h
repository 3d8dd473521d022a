#pragma once
// Where decoded frames go: a file of raw pixels, pictures, standard output, a digest, or nowhere.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/decoder.h>
#include <lanner/output.h>

#include "input/files.h"
#include "output/frame_size.h"

namespace lanner::tool {

/// Names of pictures: `x.png` for one, `x%03d.png` for each frame by its number in the clip.
class PictureName {
public:
  explicit PictureName(const std::string& text);
  bool numbered() const noexcept { return numbered_; }
  std::string of(std::int64_t frame) const;

private:
  std::string before_, after_;
  int digits_ = 0;
  bool numbered_ = false, zeros_ = false;
};

/// What `-o` asks for, by its ending.
enum class FrameOutput { none, standard_output, raw, pictures };
/// Throws Error{invalid_argument} for endings of what is not written here: other pictures, clips.
FrameOutput frame_output(const std::string& output);

/// RFC 1321, for comparison with digests that others publish.
class Md5 {
public:
  Md5();
  void update(std::string_view bytes);
  std::string hex();

private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

/// Pictures are turned as players show them; raw pixels and digests are those that are stored.
class FrameSink {
public:
  /// `files` are those that the command reads; the output is added. With `size` all is written in it. Throws
  /// Error{invalid_argument, not_found, io}.
  FrameSink(const std::string& output, bool md5, Files& files, std::optional<FrameSize> size = {});
  /// For commands that know: a single picture takes one frame. Throws Error{invalid_argument}.
  void expect(std::int64_t frames) const;
  /// The image as it was written; unless it was scaled, as it is stored.
  Image write(const Frame& frame);
  void finish();

private:
  void write(std::string_view bytes);
  void write_rows(const Image& image);
  void write_picture(std::int64_t frame, Image image);

  std::string output_;
  FrameOutput kind_;
  PictureName name_;
  Files& files_;
  std::optional<FrameSize> size_;
  std::optional<OutputFile> file_;
  std::optional<Md5> md5_;
  std::optional<Image> only_; ///< Of an output that is one picture.
};

} // namespace lanner::tool
