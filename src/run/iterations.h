#pragma once
// Executes `loop` and `scan` nodes.

#include <optional>

#include "ops/control/control_flow.h"
#include "run/subprogram_run.h"

namespace lanner {

/// One output that stacks the results of the iterations.
class StackedOutput {
public:
  StackedOutput(const LoopValues::Stacked& plan, const Type& element, Device device)
      : plan_(plan), element_(element), device_(device) {}

  /// `iterations` is their number where known, else `most` bounds it.
  void begin(const StepOutput& outlet, std::optional<std::int64_t> iterations, std::int64_t most,
             const Transfers& transfers);
  /// Memory that iteration `iteration` may write to; null where it has none of its own.
  void* place(std::int64_t iteration, std::byte* workspace, const Transfers& transfers);
  /// Call when iteration `iteration` has run.
  void take(std::int64_t iteration, const StepInput& value, const Transfers& transfers);
  void finish(std::int64_t iterations, const Transfers& transfers);
  void clear();

private:
  Shape shape(std::int64_t iterations) const;
  void reserve(std::int64_t iterations, const Transfers& transfers);
  bool fits(std::int64_t iterations) const;
  std::int64_t index(std::int64_t iteration) const;

  const LoopValues::Stacked& plan_;
  const Type& element_; ///< Result of one iteration.
  Device device_;       ///< Device of the value if it is plain memory.
  StepOutput outlet_;
  Tensor made_; ///< Row-major; the outlet's memory or, for an item, its own.
  std::optional<std::int64_t> iterations_;
  std::int64_t max_ = 0, capacity_ = 0;
  ops::Stack list_; ///< Elements of data-dependent size.
};

/// A `loop` or `scan`.
class LoopStep final : public RegionStep {
public:
  LoopStep(const Step& step, const SubprogramMemory& memory);
  void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
           const RunRequest& request) override;

private:
  /// A carried value between two iterations: its memory, or the item.
  struct State {
    const void* memory = nullptr;
    Item item;
    void* next = nullptr; ///< Memory of this iteration's result.
  };
  void begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
             const Transfers& transfers);
  void begin_scan(std::span<const StepInput> inputs, const Transfers& transfers);
  void give_iteration(std::int64_t iteration, const Transfers& transfers);
  void give_control(std::size_t parameter, const void* value, std::uint64_t buffer,
                    const Transfers& transfers);
  void place_results(std::int64_t iteration, const Transfers& transfers);
  void take_results(std::int64_t iteration, const Transfers& transfers);
  void take_carried(std::size_t i, const Transfers& transfers);
  void give_slice(std::size_t i, std::int64_t iteration, const Transfers& transfers);
  bool goes_on(const Transfers& transfers) const;
  void finish(std::int64_t iterations, const Transfers& transfers);
  void clear();
  /// Sets the memory of result `k` unless another output with the same value has claimed it.
  bool claim(std::size_t k, void* memory);

  const Node& node_;
  const LoopValues& plan_;
  const Device device_; ///< Of values in memory.
  std::byte* workspace_;
  SubprogramRun subprogram_;
  std::span<const StepOutput> outputs_;
  std::vector<State> carried_;
  std::vector<StackedOutput> stacked_;
  std::vector<Tensor> scanned_;
  std::vector<bool> claimed_, direct_;   ///< By computed result; by result of the region.
  std::int64_t iteration_ = 0, max_ = 0; ///< `iteration_` is read by the region.
  std::optional<std::int64_t> known_;    ///< Number of iterations.
  bool always_ = true;                   ///< The condition is constantly true.
  bool condition_ = true, next_ = true;
};

} // namespace lanner
