#pragma once
// What a file is, by its first bytes.

#include <string>

#include <lanner/source.h>

namespace lanner::tool {

enum class FileKind { plan, image, clip, other };

/// Told by content, never by name: a plan, a still image, a known container of video, or none of these (a
/// model, or a container that only FFmpeg knows). Throws Error{not_found, io}, Error{unsupported} for a pipe.
FileKind kind_of(const std::string& path);

/// The same of a file that is read after: a pipe, too, which kind_of() refuses, since it would be read empty.
struct Media {
  FileKind kind;
  SourcePtr source; ///< From the beginning.
};
Media open_media(const std::string& path);

} // namespace lanner::tool
