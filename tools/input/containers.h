#pragma once
// Containers that annotated clips are written into, and the codecs that each can hold.

#include <string>
#include <string_view>

namespace lanner::tool {

struct Container {
  std::string_view format;  ///< FFmpeg's name.
  std::string_view names;   ///< Other names that --format accepts, separated by spaces.
  std::string_view endings; ///< Of files, separated by spaces; new files get the first one.
  std::string_view codecs; ///< Codecs that it holds and players support, the best first, separated by spaces;
                           ///< none: raw pixels.
  bool steady = false;     ///< Stores no times: frames are evenly spaced.
};

/// By --format. Throws Error{invalid_argument} with the known names.
const Container& container_named(std::string_view name);
/// By a file's ending; null for others, of which FFmpeg may know some.
const Container* container_of(const std::string& path);
/// Extensions to list in a message: `.mp4, .mkv, ...`.
std::string known_endings();

} // namespace lanner::tool
