#pragma once
// Short streams of an encoder, and what their headers say.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lanner/decoder.h>
#include <lanner/encoder.h>

#include "video/clips.h"

namespace lanner::test {

/// Skips the test where this FFmpeg lacks an encoder.
#define LANNER_NEEDS_ENCODER(name)                                                                           \
  LANNER_NEEDS_FFMPEG();                                                                                     \
  if (!test::has_encoder(name)) GTEST_SKIP() << "this FFmpeg has no " << name
#define LANNER_NEEDS_TRACE()                                                                                 \
  if (!test::can_trace()) GTEST_SKIP() << "the program ffmpeg, which prints headers, is not installed"

bool has_encoder(std::string_view name);
bool can_trace();

struct EncodedStream {
  StreamInfo stream;
  std::vector<Packet> packets;
  std::vector<EncoderRestart> restarts;
  std::size_t bytes() const;
  std::string content() const; ///< Of all packets.
};

/// Before picture `i` is sent; may change the encoder, and says what is asked for the picture.
using BeforePicture = std::function<PictureRequest(Encoder& encoder, int i)>;

/// Options of 96x64 pictures, one thread.
EncoderOptions small_options(const std::string& codec);
/// Encodes that many patterns.
EncodedStream encoded(const EncoderOptions& options, int frames = 12, const BeforePicture& before = {});
/// Noise over the patterns, which takes bits.
EncodedStream encoded_noise(const EncoderOptions& options, int frames = 24, const BeforePicture& before = {});
Image noise(PixelFormat format, std::int32_t width, std::int32_t height, int time);

/// Decodes a stream.
std::vector<Image> decoded(const EncodedStream& from);

/// Fields of all headers in their order, as FFmpeg's filter trace_headers prints them.
class HeaderTrace {
public:
  explicit HeaderTrace(const EncodedStream& from);
  /// All values of the field.
  std::vector<std::int64_t> all(std::string_view field) const;
  /// The first one; a failure of the test where there is none.
  std::int64_t first(std::string_view field) const;
  std::size_t count(std::string_view field) const { return all(field).size(); }
  bool has(std::string_view field) const { return count(field) > 0; }
  /// QP by the type of slices of H.264 and HEVC: `I`, `P`, `B`.
  std::map<char, std::vector<int>> slice_qps(bool hevc) const;
  const std::vector<std::pair<std::string, std::int64_t>>& fields() const { return fields_; }

private:
  std::vector<std::pair<std::string, std::int64_t>> fields_;
};

} // namespace lanner::test
