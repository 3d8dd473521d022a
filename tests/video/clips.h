#pragma once
// Clips, pictures and digests for the tests of video.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/encoder.h>
#include <lanner/image.h>
#include <lanner/video_reader.h>
#include <lanner/video_support.h>
#include <lanner/video_writer.h>

namespace lanner::test {

/// Skips the test, with the reason, where the FFmpeg module cannot be opened.
#define LANNER_NEEDS_FFMPEG()                                                                                \
  if (!video_support().available) GTEST_SKIP() << video_support().reason

/// A smooth picture with a moving square, known exactly: the same for the same arguments.
Image pattern(PixelFormat format, std::int32_t width, std::int32_t height, int time);

/// Encodes `frames` patterns. Options without a size get 96x64; a gop of 8 and 2 B-frames unless they say
/// otherwise.
std::filesystem::path make_clip(const std::filesystem::path& path, int frames, EncoderOptions options = {});

/// Has an MP4 file say that its pictures are shown turned clockwise by 90 degrees.
void turn_in_file(const std::filesystem::path& mp4);

/// Adler-32 of the picture's samples, row by row without padding, as FFmpeg's framecrc takes it.
std::uint32_t frame_checksum(const Image& image);

/// MD5 (RFC 1321), for digests that others published.
class Md5 {
public:
  void update(const std::byte* data, std::size_t size);
  void update(const Image& image);
  std::string hex();

private:
  void block(const std::uint8_t* bytes);
  std::uint32_t state_[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::uint64_t size_ = 0;
  std::uint8_t rest_[64] = {};
};

/// What a shell command writes to its standard output; nothing when it fails.
std::optional<std::string> output_of(const std::string& command);
std::vector<std::string> lines_of(const std::string& text);
/// `path` as one word of a shell command.
std::string quoted(const std::filesystem::path& path);
std::string bytes_of(const std::filesystem::path& path);

/// Peak signal to noise ratio of two rgb24 images, in dB; 100 for equal ones.
double psnr(const Image& a, const Image& b);

} // namespace lanner::test
