#pragma once
// Expected cost of alternatives.

#include <map>
#include <span>
#include <string>

#include "lower/propose/alternatives.h"

namespace lanner {

/// Measured seconds, or a tactic's own estimate times a correction factor of this build: the median ratio of
/// measured to estimated seconds of the same kernel, or of all kernels.
class Estimates {
public:
  explicit Estimates(std::span<const Proposal> proposals);
  double seconds(const Alternative& alternative) const;
  /// The corrected estimate, whether the alternative was measured or not.
  double expected(const Alternative& alternative) const;

private:
  std::map<std::string, double> corrections_; ///< By backend and kernel.
  double correction_ = 1;                     ///< For the others.
};

} // namespace lanner
