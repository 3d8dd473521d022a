#pragma once
// Selects the frames of a clip in a FrameRange.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <lanner/pipeline.h>

namespace lanner {

/// Decides for each frame of a clip, in order.
class FrameChoice {
public:
  /// Throws Error{invalid_argument} for a range that makes no sense.
  FrameChoice(const FrameRange& range, const StreamInfo& stream);

  /// Whether frame `index` with this pts is wanted.
  bool takes(std::int64_t index, std::int64_t pts);
  /// Whether no later frame can be wanted.
  bool over() const noexcept { return over_; }

private:
  double seconds(std::int64_t index, std::int64_t pts);

  FrameRange range_;
  Rational time_base_;
  double spacing_;   ///< Seconds between frames without times.
  double tolerance_; ///< Half a tick, the rounding of times.
  std::optional<std::int64_t> first_;
  double due_;                       ///< For a rate: the next frame is taken from this time on.
  std::int64_t met_ = 0, taken_ = 0; ///< Frames that passed time and rate, and frames taken.
  bool over_ = false;
};

/// The wanted frames of a reader. Long gaps are skipped if its source can seek, else decoded and dropped: the
/// frames are the same.
class ChosenFrames {
public:
  ChosenFrames(VideoReader reader, const FrameRange& range);
  const StreamInfo& stream() const noexcept { return reader_.stream(); }
  std::optional<Frame> next();

private:
  bool skips_much() const;
  void list_wanted();
  std::optional<Frame> next_listed();

  VideoReader reader_;
  FrameRange range_;
  FrameChoice choice_;
  bool all_;
  std::optional<std::vector<std::int64_t>> wanted_; ///< Indices of the frames, if they were looked up.
  std::size_t given_ = 0;
};

} // namespace lanner
