#pragma once
// What a file is, by its first bytes.

#include <string>

#include <lanner/source.h>

namespace lanner::tool {

enum class FileKind { plan, image, clip, other };

/// Told by content, never by name: a plan, a still image, a known container of video, or none of these (a
/// model, or a container that only FFmpeg knows). Throws Error{not_found, io}.
FileKind kind_of(const std::string& path);

} // namespace lanner::tool
