#pragma once
// A demuxer as the module's other files see it.

#include <string>

#include <lanner/demuxer.h>

#include "base/check.h"
#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// What this module's demuxers are besides.
class AvDemuxer {
public:
  virtual ~AvDemuxer() = default;
  virtual const AVFormatContext& av_context() const noexcept = 0;
  /// StreamFacts::alpha_left_out of the stream.
  virtual std::string alpha_left_out(int) const { return {}; }
};

/// Throws Error{invalid_argument} for a demuxer that another one made.
inline const AVFormatContext& av_context_of(const Demuxer& demuxer) {
  const auto* known = dynamic_cast<const AvDemuxer*>(&demuxer);
  check(known != nullptr, ErrorCode::invalid_argument, "demuxer of {}: expected one that open_demuxer() gave",
        demuxer.format());
  return known->av_context();
}

/// Throws Error{invalid_argument} where there is no such stream.
inline const AVStream& av_stream_of(const Demuxer& demuxer, int stream) {
  const AVFormatContext& context = av_context_of(demuxer);
  check(stream >= 0 && static_cast<unsigned>(stream) < context.nb_streams, ErrorCode::invalid_argument,
        "no stream {}; there are {}", stream, context.nb_streams);
  return *context.streams[stream];
}

} // namespace lanner::ffmpeg
