#pragma once
// The kind of a file, from its first bytes.

#include <string>

#include <lanner/source.h>

namespace lanner::tool {

enum class FileKind { plan, image, clip, other };

/// From content, never from the name: a plan, a still image, a known container of video (animated GIF and PNG
/// count as such), or none of these (a model, or a container that only FFmpeg knows). Throws Error{not_found,
/// io}, Error{unsupported} for a pipe.
FileKind kind_of(const std::string& path);

/// The same for a source that is read afterwards: it must give its first bytes again, as files and
/// pipe_source.h do.
struct Media {
  FileKind kind;
  SourcePtr source; ///< At the file's start.
  bool mp4 = false; ///< MP4 or MOV, whose tables may come after the frames.
};
Media open_media(const std::string& path);
Media media_of(SourcePtr source);

/// Whether a file of a folder is an image or a clip: by its content, and by its extension where only FFmpeg
/// knows the container.
bool looks_like_media(const Media& media);

} // namespace lanner::tool
