#include "tactics/tactic_run.h"

#include <array>
#include <new>

#include <fmt/format.h>

#include <lanner/error.h>

#include "device/memory.h"
#include "lower/check/trial.h"

namespace lanner::sweep {

ProblemRun::ProblemRun(const Problem& problem, const Target& target, int runs, const Control& control)
    : problem_(problem), target_(target), runs_(runs), control_(control) {}

ProblemRun::~ProblemRun() = default;

void ProblemRun::try_offer(const Offer& offer, Finding& finding) {
  const Node& node = *problem_.node;
  const auto runs = static_cast<std::size_t>(runs_);
  const Target target = target_.for_device(offer.backend->device());
  if (!data_) data_ = std::make_unique<TrialData>(node, target_.threads, control_);
  Trial trial({node, *offer.backend, offer.tactic, target}, *data_, constants_);
  finding.wrong = trial.check(runs).wrong;
  if (!finding.wrong.empty()) return;
  // Different operands: otherwise two contexts that wrongly share memory would still give right results.
  if (!other_) other_ = std::make_unique<TrialData>(node, *data_);
  const std::unique_ptr<Trial> twin = trial.twin(*other_);
  twin->run_alone();
  finding.wrong = side_by_side(std::array{&trial, twin.get()}, runs).wrong;
}

Finding ProblemRun::run(const Offer& offer) {
  Finding finding;
  try {
    try_offer(offer, finding);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    const bool room = error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::limit_exceeded;
    (room ? finding.wrong : finding.untried) = fmt::format("it fails: {}", error.message());
  } catch (const std::bad_alloc&) {
    finding.untried = "no memory";
  }
  if (!finding.wrong.empty()) finding.lost_device = lost_device();
  return finding;
}

/// Whether the GPU is unusable: an illegal memory access poisons the context of the process.
bool ProblemRun::lost_device() const {
  if (target_.device.is_host()) return false;
  try {
    allocate_memory(target_.device, 1 << 20);
    synchronize(target_.device);
    return false;
  } catch (const Error& error) {
    return error.code() != ErrorCode::out_of_memory;
  }
}

} // namespace lanner::sweep
