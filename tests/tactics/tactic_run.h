#pragma once
// Runs one tactic of a problem as contexts do.

#include <memory>

#include <lanner/cancel.h>

#include "lower/check/trial_data.h"
#include "program/weights/weights.h"
#include "tactics/problems.h"

namespace lanner::sweep {

/// Result of testing a tactic. One that could not be tested is neither right nor wrong.
struct Finding {
  std::string wrong, untried;
  bool lost_device = false; ///< The device is unusable in this process.
};

/// Tests tactics of one problem. One thread at a time.
class ProblemRun {
public:
  ProblemRun(const Problem& problem, const Target& target, int runs, const Control& control);
  ~ProblemRun();

  /// `runs` runs alone against the definition (see Trial::check), then as many in each of two contexts with
  /// different operands that run side by side. Throws Error{cancelled} only.
  Finding run(const Offer& offer);

private:
  void try_offer(const Offer& offer, Finding& finding);
  bool lost_device() const;

  const Problem& problem_;
  const Target& target_;
  int runs_;
  const Control& control_;
  WeightStore constants_;
  std::unique_ptr<TrialData> data_, other_;
};

} // namespace lanner::sweep
