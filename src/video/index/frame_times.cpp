#include "video/index/frame_times.h"

#include <algorithm>
#include <iterator>

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

namespace {

/// Of each frame with a time: how many frames the longest series has that does not fall and ends there.
std::vector<std::size_t> rise_lengths(const Times& times) {
  std::vector<std::int64_t> ends; // Of the best series of each length.
  std::vector<std::size_t> lengths;
  for (const std::int64_t time : times) {
    const auto longer = std::ranges::upper_bound(ends, time);
    lengths.push_back(static_cast<std::size_t>(longer - ends.begin()) + 1);
    if (longer == ends.end())
      ends.push_back(time);
    else
      *longer = time;
  }
  return lengths;
}

/// Places of a longest series of frames whose times do not fall; of several the one that comes first.
std::vector<std::size_t> longest_rise(const std::vector<IndexEntry>& frames) {
  std::vector<std::size_t> places;
  Times times, backwards;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (frames[i].pts != no_pts) {
      places.push_back(i);
      times.push_back(frames[i].pts);
    }
  for (std::size_t i = times.size(); i-- > 0;) backwards.push_back(-times[i]);
  const std::vector<std::size_t> before = rise_lengths(times), behind = rise_lengths(backwards);
  const std::size_t longest = before.empty() ? 0 : std::ranges::max(before);
  std::vector<std::size_t> series;
  for (std::size_t i = 0, last = 0; i < times.size(); ++i) {
    if (before[i] != series.size() + 1 || before[i] + behind[times.size() - 1 - i] != longest + 1) continue;
    if (!series.empty() && times[i] < times[last]) continue;
    series.push_back(places[i]);
    last = i;
  }
  return series;
}

std::int64_t added(std::int64_t time, std::int64_t ticks) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(time, ticks, &sum)) return sum;
  return ticks > 0 ? INT64_MAX : INT64_MIN + 1;
}

/// Frames whose time falls behind one before are spread between those that can be believed: a packet that is
/// wrong does not take the others their times.
std::vector<IndexEntry> rising(std::vector<IndexEntry> frames) {
  const std::vector<std::size_t> series = longest_rise(frames);
  if (series.empty()) return frames;
  const auto length = [&](std::size_t i) { return std::max<std::int64_t>(1, frames[i].duration); };
  for (std::size_t i = series.front(); i-- > 0;)
    if (frames[i].pts != no_pts) frames[i].pts = added(frames[i + 1].pts, -length(i));
  for (std::size_t k = 0; k + 1 < series.size(); ++k) {
    const std::size_t first = series[k], last = series[k + 1];
    const auto parts = static_cast<std::int64_t>(last - first);
    std::int64_t gap = 0;
    if (__builtin_sub_overflow(frames[last].pts, frames[first].pts, &gap)) gap = 0;
    for (std::size_t i = first + 1; i < last; ++i)
      if (frames[i].pts != no_pts)
        frames[i].pts = frames[first].pts + gap / parts * static_cast<std::int64_t>(i - first);
  }
  for (std::size_t i = series.back() + 1; i < frames.size(); ++i)
    if (frames[i].pts != no_pts) frames[i].pts = added(frames[i - 1].pts, length(i - 1));
  return frames;
}

/// The same where some have no time: what is wrong is left to what their durations say.
std::vector<IndexEntry> believed(std::vector<IndexEntry> frames) {
  std::vector<bool> kept(frames.size());
  for (const std::size_t i : longest_rise(frames)) kept[i] = true;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (!kept[i]) frames[i].pts = no_pts;
  return frames;
}

} // namespace

std::vector<std::int64_t> shown_times(const StreamIndex& index) {
  std::vector<IndexEntry> frames = index.frames;
  std::vector<IndexEntry> timed;
  std::ranges::copy_if(frames, std::back_inserter(timed),
                       [](const IndexEntry& frame) { return frame.pts != no_pts; });
  if (!std::ranges::is_sorted(timed, {}, &IndexEntry::pts))
    frames = timed.size() == frames.size() ? rising(std::move(frames)) : believed(std::move(frames));
  return Extrapolation(frames).run();
}

} // namespace lanner
