// Containers by their extensions, and the codecs that players show in them.

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lanner/video_support.h>
#include <lanner/video_writer.h>

namespace lanner {
namespace {

using Words = std::array<std::string_view, 6>; ///< Empty ones are none.

struct Container {
  std::string_view format;
  Words extensions, codecs;
};

// H.264 in AVI has no times for its reordered frames; VP8, VP9 and AV1 are all that WebM may hold.
constexpr Container containers[] = {
    {"mp4", {".mp4", ".m4v"}, {"h264", "hevc", "av1", "mpeg4"}},
    {"matroska", {".mkv"}, {"h264", "hevc", "vp9", "av1", "mpeg4"}},
    {"webm", {".webm"}, {"vp9", "av1"}},
    {"mov", {".mov", ".qt"}, {"h264", "hevc", "mpeg4"}},
    {"avi", {".avi"}, {"mpeg4", "mjpeg"}},
    {"mpegts", {".ts", ".mts", ".m2ts"}, {"h264", "hevc"}},
    {"flv", {".flv"}, {"h264"}},
    {"mjpeg", {".mjpeg", ".mjpg"}, {"mjpeg"}},
    {"h264", {".h264", ".264"}, {"h264"}},
    {"hevc", {".hevc", ".h265", ".265"}, {"hevc"}},
};

bool has(const Words& words, std::string_view word) {
  return !word.empty() && std::ranges::find(words, word) != words.end();
}

/// FFmpeg's software encoders of a codec.
Words encoders_of(std::string_view codec) {
  constexpr std::pair<std::string_view, Words> known[] = {
      {"h264", {"libx264", "libopenh264"}},
      {"hevc", {"libx265"}},
      {"vp9", {"libvpx-vp9"}},
      {"av1", {"libsvtav1", "libaom-av1", "librav1e"}},
      {"mpeg4", {"mpeg4"}},
      {"mjpeg", {"mjpeg"}},
  };
  for (const auto& [name, encoders] : known)
    if (name == codec) return encoders;
  return {};
}

bool can_encode(std::string_view codec) {
  static const VideoSupport support = video_support();
  return std::ranges::any_of(support.encoders,
                             [&](const std::string& encoder) { return has(encoders_of(codec), encoder); });
}

} // namespace

std::string_view format_of_extension(std::string_view extension) noexcept {
  for (const Container& container : containers)
    if (has(container.extensions, extension)) return container.format;
  return {};
}

EncoderOptions encoder_for_format(std::string_view format) {
  EncoderOptions options;
  const auto found = std::ranges::find(containers, format, &Container::format);
  if (found == std::end(containers)) return options;
  options.codec = found->codecs[0]; // Where none can be encoded, the encoder says so.
  for (const std::string_view codec : found->codecs)
    if (can_encode(codec)) {
      options.codec = codec;
      break;
    }
  if (options.codec == "vp9") {
    options.crf = 31;
    options.codec_options = {{"row-mt", "1"}};
  }
  // Quantisers 3 and 2 of 31: FFmpeg's default is 200 kbit a second.
  if (options.codec == "mpeg4") options.codec_options = {{"flags", "+qscale"}, {"global_quality", "354"}};
  if (options.codec == "mjpeg") options.codec_options = {{"flags", "+qscale"}, {"global_quality", "236"}};
  return options;
}

} // namespace lanner
