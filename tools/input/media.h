#pragma once
// What a file is, by its first bytes.

#include <string>

#include <lanner/source.h>

namespace lanner::tool {

enum class FileKind { plan, image, clip, other };

/// Told by content, never by name: a plan, a still image, a known container of video, which animated GIF and
/// PNG are too, or none of these (a
/// model, or a container that only FFmpeg knows). Throws Error{not_found, io}, Error{unsupported} for a pipe.
FileKind kind_of(const std::string& path);

/// The same of a source that is read after: it gives its first bytes again, as files and pipe_source.h do.
struct Media {
  FileKind kind;
  SourcePtr source; ///< From the beginning.
  bool mp4 = false; ///< MP4 or MOV, whose tables may lie behind the pictures.
};
Media open_media(const std::string& path);
Media media_of(SourcePtr source);

/// Whether a file of a folder is meant to be a picture or a clip: by its content, and by its name where only
/// FFmpeg knows the container.
bool looks_like_media(const Media& media);

} // namespace lanner::tool
