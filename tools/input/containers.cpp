#include "input/containers.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>
#include <vector>

#include <lanner/error.h>

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
    {"gif", "", ".gif", "gif"},
    {"apng", "", ".apng", "apng"},
    {"webp", "", ".webp", "webp"},
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

} // namespace lanner::tool
