#include "video/frame_times.h"

#include <algorithm>

namespace lanner {

namespace {

using Times = std::vector<std::int64_t>;

/// The duration of all frames that have one, 0 where they differ.
std::int64_t common_duration(const std::vector<IndexEntry>& frames) {
  std::int64_t common = 0;
  for (const IndexEntry& frame : frames) {
    if (frame.duration <= 0) continue;
    if (common > 0 && frame.duration != common) return 0;
    common = frame.duration;
  }
  return common;
}

/// The distance between neighbours that have times, 0 where it varies or no two are neighbours.
std::int64_t common_distance(const std::vector<IndexEntry>& frames) {
  std::int64_t common = 0;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    std::int64_t distance = 0;
    if (frames[i - 1].pts == no_pts || frames[i].pts == no_pts) continue;
    if (__builtin_sub_overflow(frames[i].pts, frames[i - 1].pts, &distance) || distance <= 0) return 0;
    if (common > 0 && distance != common) return 0;
    common = distance;
  }
  return common;
}

class Extrapolation {
public:
  explicit Extrapolation(const std::vector<IndexEntry>& frames) : frames_(frames), times_(frames.size()) {
    for (std::size_t i = 0; i < frames.size(); ++i) times_[i] = frames[i].pts;
    const bool told = std::ranges::any_of(frames, [](const IndexEntry& frame) { return frame.duration > 0; });
    usual_ = told ? common_duration(frames) : common_distance(frames);
  }

  /// Empty where some frame's time stays unknown.
  Times run() {
    const auto timed = std::ranges::find_if(times_, [](std::int64_t time) { return time != no_pts; });
    if (timed == times_.end()) return {};
    const auto first = static_cast<std::size_t>(timed - times_.begin());
    for (std::size_t i = first; i-- > 0;)
      if (length(i) <= 0 || __builtin_sub_overflow(times_[i + 1], length(i), &times_[i]) ||
          times_[i] == no_pts)
        return {};
    for (std::size_t i = first; i + 1 < times_.size();) {
      const std::size_t next = next_timed(i);
      if (next == times_.size() ? !go_on(i) : !bridge(i, next)) return {};
      i = next;
    }
    return std::move(times_);
  }

private:
  std::int64_t length(std::size_t i) const { return frames_[i].duration > 0 ? frames_[i].duration : usual_; }

  std::size_t next_timed(std::size_t i) const {
    do ++i;
    while (i < times_.size() && times_[i] == no_pts);
    return i;
  }

  /// Times up to the end, from that of frame `i` on.
  bool go_on(std::size_t i) {
    for (; i + 1 < times_.size(); ++i)
      if (length(i) <= 0 || __builtin_add_overflow(times_[i], length(i), &times_[i + 1])) return false;
    return true;
  }

  /// Times between frames `i` and `end`, which have one.
  bool bridge(std::size_t i, std::size_t end) {
    std::int64_t gap = 0;
    if (__builtin_sub_overflow(times_[end], times_[i], &gap) || gap < 0) return false;
    if (end == i + 1) return true;
    std::int64_t filled = 0;
    for (std::size_t k = i; k < end; ++k)
      if (length(k) <= 0 || __builtin_add_overflow(filled, length(k), &filled)) return share(i, end, gap);
    if (filled != gap) return false;
    for (; i + 1 < end; ++i) times_[i + 1] = times_[i] + length(i);
    return true;
  }

  /// The gap falls into equal parts where nothing says how long one is.
  bool share(std::size_t i, std::size_t end, std::int64_t gap) {
    const auto parts = static_cast<std::int64_t>(end - i);
    const bool told = std::any_of(frames_.begin() + static_cast<std::ptrdiff_t>(i),
                                  frames_.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](const IndexEntry& frame) { return frame.duration > 0; });
    if (told || gap % parts != 0) return false;
    for (; i + 1 < end; ++i) times_[i + 1] = times_[i] + gap / parts;
    return true;
  }

  const std::vector<IndexEntry>& frames_;
  Times times_;
  std::int64_t usual_ = 0;
};

} // namespace

std::vector<std::int64_t> shown_times(const StreamIndex& index) {
  return Extrapolation(index.frames).run();
}

} // namespace lanner
