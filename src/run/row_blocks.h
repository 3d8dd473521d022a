#pragma once
// A step that runs its rows block by block.

#include "plan/row_blocks.h"
#include "run/body_run.h"

namespace lanner {

/// A `by_rows`: any number of rows by bodies for some.
class RowBlocksStep final : public RegionStep {
public:
  RowBlocksStep(const Step& step, const BodyMemory& memory);
  void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
           const RunRequest& request) override;

private:
  void begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs, const Mover& mover);
  void run_block(std::size_t block, std::int64_t first, const RunRequest& request);
  MemoryPlace row(const Tensor& tensor, std::int64_t number, std::uint64_t row_bytes) const;
  void clear();

  const Node& node_;
  const RowBlocks& plan_;
  const Device device_;
  std::byte* workspace_;
  std::vector<BodyRun> bodies_;
  BlockChoice choice_;
  std::int64_t rows_ = 0;
  std::vector<Tensor> inputs_, outputs_; ///< Of those with rows, whole.
};

} // namespace lanner
