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
  /// Seconds of the proposal's work at the best rate that was measured for products and convolutions of about
  /// as much work; infinity where there is none.
  double at_best_rate(const Proposal& proposal) const;

private:
  void learn_rate(const Proposal& proposal);

  std::map<std::string, double> corrections_; ///< By backend and kernel.
  double correction_ = 1;                     ///< For the others.
  std::multimap<double, double> rates_;       ///< FLOPs of contractions to their best FLOPs per second.
};

} // namespace lanner
