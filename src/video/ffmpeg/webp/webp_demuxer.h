#pragma once
// Animated WebP files, of whose frames FFmpeg's demuxers know nothing; see Note [Animated WebP].

#include <memory>
#include <string_view>

#include <lanner/demuxer.h>

namespace lanner::ffmpeg {

/// The name that DemuxerOptions::format may give.
inline constexpr std::string_view webp_format = "webp";

/// Of a source that begins as an animated WebP does, else null. A source that cannot go back is replaced by
/// one that gives its first bytes again.
std::unique_ptr<Demuxer> open_animated_webp(SourcePtr& source, const DemuxerOptions& options);

} // namespace lanner::ffmpeg
