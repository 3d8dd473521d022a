#pragma once
// Executes `if` nodes.

#include "run/subprogram_run.h"

namespace lanner {

/// An `if`: region 0 where input 0 holds, else region 1.
class Branch final : public RegionStep {
public:
  Branch(const Step& step, const SubprogramMemory& memory);
  void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
           const RunRequest& request) override;

private:
  std::vector<SubprogramRun> subprograms_;
};

} // namespace lanner
