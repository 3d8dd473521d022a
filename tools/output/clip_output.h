#pragma once
// Video that is written frame by frame with the times of the clip it came from.

#include <memory>
#include <string>

#include <lanner/encoder.h>
#include <lanner/video_reader.h>

namespace lanner::tool {

/// Frames that a reader may give, by the container; 0 when it does not say.
double expected_frames(const VideoReader& reader);

enum class PixelChoice {
  source,  ///< The stream's own pixel format.
  playable ///< 4:2:0 of 8 bits, which every player shows.
};

/// A VideoWriter that takes time base, rate, aspect and colours from the stream that it follows.
class ClipOutput {
public:
  ClipOutput(const std::string& path, const StreamInfo& stream, PixelChoice pixels,
             EncoderOptions options = {});
  ClipOutput(std::unique_ptr<Muxer> muxer, const StreamInfo& stream, PixelChoice pixels,
             EncoderOptions options = {});

  /// Pixels as a player shows them, and the source's pts. A pts that does not grow is moved behind the last.
  /// `duration`: ticks that it is shown for; 0 where that is not known.
  void write(const Image& image, std::int64_t pts, std::int64_t duration);
  void finish() { writer_.finish(); }

private:
  static EncoderOptions completed(EncoderOptions options, const StreamInfo& stream, PixelChoice pixels);

  VideoWriter writer_;
  std::int64_t last_pts_ = no_pts;
};

} // namespace lanner::tool
