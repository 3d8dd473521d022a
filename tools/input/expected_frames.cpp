#include "input/expected_frames.h"

#include <cmath>

namespace lanner::tool {

double expected_frames(const VideoReader& reader) {
  const StreamInfo& stream = reader.stream();
  if (stream.frames > 0) return static_cast<double>(stream.frames);
  return std::round(reader.demuxer().duration() * stream.average_rate.to_double());
}

} // namespace lanner::tool
