#pragma once
// Executes `row_blocks` nodes block by block.

#include "program/row_blocks.h"
#include "run/subprogram_run.h"

namespace lanner {

/// A `row_blocks`: any number of rows, by subprograms for fixed numbers of rows.
class RowBlocksStep final : public RegionStep {
public:
  RowBlocksStep(const Step& step, const SubprogramMemory& memory);
  void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
           const RunRequest& request) override;

private:
  void begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
             const Transfers& transfers);
  void run_block(std::size_t block, std::int64_t first, const RunRequest& request);
  MemoryLocation row(const Tensor& tensor, std::int64_t number, std::uint64_t row_bytes) const;
  void clear();

  const Node& node_;
  const RowBlocks& plan_;
  const Device device_;
  std::byte* workspace_;
  std::vector<SubprogramRun> subprograms_;
  BlockChoice choice_;
  std::int64_t rows_ = 0;
  std::vector<Tensor> inputs_, outputs_; ///< Whole values that are split into rows.
};

} // namespace lanner
