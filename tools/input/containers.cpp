#include "input/containers.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>
#include <vector>

#include <lanner/error.h>
#include <lanner/video_support.h>

#include "check.h"

namespace lanner::tool {
namespace {

// AVI has no times for H.264's reordered frames; WebM may hold only VP8, VP9 and AV1.
constexpr Container containers[] = {
    {"mp4", "", ".mp4 .m4v", "h264 hevc av1 mpeg4"},
    {"matroska", "mkv", ".mkv", "h264 hevc vp9 av1 mpeg4"},
    {"webm", "", ".webm", "vp9 av1"},
    {"mov", "", ".mov .qt", "h264 hevc mpeg4"},
    {"avi", "", ".avi", "mpeg4 mjpeg", true},
    {"mpegts", "ts", ".ts .mts .m2ts", "h264 hevc"},
    {"flv", "", ".flv", "h264"},
    {"yuv4mpegpipe", "y4m", ".y4m", "", true},
    {"mjpeg", "", ".mjpeg .mjpg", "mjpeg", true},
    {"h264", "", ".h264 .264", "h264", true},
    {"hevc", "", ".hevc .h265 .265", "hevc", true},
};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto parts = words(text);
  return std::ranges::find(parts, word) != parts.end();
}

/// FFmpeg's software encoders of a codec.
std::string_view encoders_of(std::string_view codec) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"h264", "libx264 libopenh264"},          {"hevc", "libx265"}, {"vp9", "libvpx-vp9"},
      {"av1", "libsvtav1 libaom-av1 librav1e"}, {"mpeg4", "mpeg4"},  {"mjpeg", "mjpeg"},
  };
  const auto found = std::ranges::find(known, codec, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(known) ? std::string_view() : found->second;
}

bool can_encode(std::string_view codec) {
  static const VideoSupport support = video_support();
  return std::ranges::any_of(
      support.encoders, [&](const std::string& encoder) { return has_word(encoders_of(codec), encoder); });
}

} // namespace

const Container& container_named(std::string_view name) {
  std::string list;
  for (const Container& container : containers) {
    if (container.format == name || has_word(container.names, name)) return container;
    list += list.empty() ? "" : ", ";
    list += container.names.empty() ? container.format : words(container.names)[0];
  }
  fail(ErrorCode::invalid_argument, "--format '{}': expected {}; png or jpg for an image", name, list);
}

const Container* container_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const Container& container : containers)
    if (has_word(container.endings, ending)) return &container;
  return nullptr;
}

std::string known_endings() {
  std::string list;
  for (const Container& container : containers) {
    list += list.empty() ? "" : ", ";
    list += words(container.endings)[0];
  }
  return list;
}

EncoderOptions encoder_for(const Container& container) {
  const auto codecs = words(container.codecs);
  const auto found = std::ranges::find_if(codecs, can_encode);
  EncoderOptions options;
  options.codec = found == codecs.end() ? codecs[0] : *found; // If there is none, the encoder reports it.
  if (options.codec == "vp9") {
    options.crf = 31;
    options.codec_options = {{"row-mt", "1"}};
  }
  // Quantisers 3 and 2 of 31: FFmpeg's default is 200 kbit a second.
  if (options.codec == "mpeg4") options.codec_options = {{"flags", "+qscale"}, {"global_quality", "354"}};
  if (options.codec == "mjpeg") options.codec_options = {{"flags", "+qscale"}, {"global_quality", "236"}};
  return options;
}

} // namespace lanner::tool
