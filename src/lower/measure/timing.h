#pragma once
// How long something takes, and how sure that is.

namespace lanner {

/// Seconds of one run. The value meant lies within `error` of `seconds`, but for one case in ten.
struct Timing {
  double seconds = 0;
  double error = 0;

  friend bool operator==(const Timing&, const Timing&) = default;
};

} // namespace lanner
