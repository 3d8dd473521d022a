#pragma once
// Containers that marked clips are written into, and what each can hold.

#include <string>
#include <string_view>

#include <lanner/encoder.h>

namespace lanner::tool {

struct Container {
  std::string_view format;  ///< FFmpeg's name.
  std::string_view names;   ///< What --format takes besides, between spaces.
  std::string_view endings; ///< Of files, between spaces; the first one is given to new files.
  std::string_view
      codecs; ///< Those that it holds and players show, the best first, between spaces; none: pixels.
  bool steady = false; ///< Holds no times: frames are evenly spaced.
};

/// By --format. Throws Error{invalid_argument} with the known names.
const Container& container_named(std::string_view name);
/// By a file's ending; null for others, of which FFmpeg may know some.
const Container* container_of(const std::string& path);
/// Endings to name in a message: `.mp4, .mkv, ...`.
std::string known_endings();

/// The first codec of the container that this machine's FFmpeg can encode, set so that its pictures are good:
/// some encoders would otherwise aim at a bit rate for telephones.
EncoderOptions encoder_for(const Container& container);

} // namespace lanner::tool
