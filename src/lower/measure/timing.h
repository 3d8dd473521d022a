#pragma once
// A measured time and its error.

namespace lanner {

/// Seconds of one run. The true value is within `error` of `seconds` with 90 % confidence.
struct Timing {
  double seconds = 0;
  double error = 0;

  friend bool operator==(const Timing&, const Timing&) = default;
};

} // namespace lanner
