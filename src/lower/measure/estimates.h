#pragma once
// What an alternative is expected to take.

#include <map>
#include <span>
#include <string>

#include "lower/propose/alternatives.h"

namespace lanner {

/// Measured seconds, or a tactic's own estimate corrected by what measuring has shown of estimates in this
/// build: by the median of measured to estimated seconds of the same kernel, or of all kernels.
class Estimates {
public:
  explicit Estimates(std::span<const Proposal> proposals);
  double seconds(const Alternative& alternative) const;
  /// By the estimate, whether it was measured or not.
  double expected(const Alternative& alternative) const;

private:
  std::map<std::string, double> corrections_; ///< By backend and kernel.
  double correction_ = 1;                     ///< For the others.
};

} // namespace lanner
