#pragma once
// What a container says of a stream beside StreamInfo.

#include <cstdint>
#include <string>

#include <lanner/demuxer.h>
#include <lanner/hdr.h>

namespace lanner {

enum class FieldOrder : std::uint8_t { progressive, top_first, bottom_first };

struct StreamFacts {
  bool attached_picture = false;               ///< A cover: one picture that is no video.
  int chapters = 0;                            ///< Of the whole container.
  FieldOrder fields = FieldOrder::progressive; ///< Progressive also where nothing is said.
  HdrMetadata hdr;
  /// When its last picture is no longer shown, in its ticks, where the container says that apart from its
  /// packets (MP4, Matroska); else no_pts.
  std::int64_t end = no_pts;
  std::string alpha_left_out; ///< Why the opacity of its pictures is not read; empty where it is, or is none.
};

/// Throws Error{invalid_argument} for a demuxer of another module.
StreamFacts stream_facts(const Demuxer& demuxer, int stream);

} // namespace lanner
