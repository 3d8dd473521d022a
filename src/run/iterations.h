#pragma once
// A step that runs its region iteration by iteration.

#include <optional>

#include "ops/control/control_flow.h"
#include "run/subprogram_run.h"

namespace lanner {

/// One output that iterations write side by side.
class StackedOutput {
public:
  StackedOutput(const LoopValues::Stacked& plan, const Type& element, Device device)
      : plan_(plan), element_(element), device_(device) {}

  /// `iterations` where their number is known, else `most` bounds it.
  void begin(const StepOutput& outlet, std::optional<std::int64_t> iterations, std::int64_t most,
             const Transfers& transfers);
  /// Memory that iteration `iteration` may write to; null where there is none for it alone.
  void* place(std::int64_t iteration, std::byte* workspace, const Transfers& transfers);
  /// Turn `iteration` has run.
  void take(std::int64_t iteration, const StepInput& value, const Transfers& transfers);
  void finish(std::int64_t iterations, const Transfers& transfers);
  void clear();

private:
  Shape shape(std::int64_t iterations) const;
  void reserve(std::int64_t iterations, const Transfers& transfers);
  bool fits(std::int64_t iterations) const;
  std::int64_t index(std::int64_t iteration) const;

  const LoopValues::Stacked& plan_;
  const Type& element_; ///< What a iteration gives.
  Device device_;       ///< Where, if it is plain memory.
  StepOutput outlet_;
  Tensor made_; ///< Row-major; the outlet's memory or, for an item, its own.
  std::optional<std::int64_t> iterations_;
  std::int64_t max_ = 0, capacity_ = 0;
  ops::Stack list_; ///< Of elements whose size is not known.
};

/// A `loop` or `scan`.
class LoopStep final : public RegionStep {
public:
  LoopStep(const Step& step, const SubprogramMemory& memory);
  void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
           const RunRequest& request) override;

private:
  /// A carried value between two iterations: where it lies, or the item.
  struct State {
    const void* memory = nullptr;
    Item item;
    void* next = nullptr; ///< Where this iteration's result goes.
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
  /// Says where result `k` goes unless an output that is the same value was asked first.
  bool claim(std::size_t k, void* memory);

  const Node& node_;
  const LoopValues& plan_;
  const Device device_; ///< Of what lies in memory.
  std::byte* workspace_;
  SubprogramRun body_;
  std::span<const StepOutput> outputs_;
  std::vector<State> carried_;
  std::vector<StackedOutput> stacked_;
  std::vector<Tensor> scanned_;
  std::vector<bool> claimed_, direct_;   ///< By computed result; by result of the region.
  std::int64_t iteration_ = 0, max_ = 0; ///< iteration_ is what the region reads.
  std::optional<std::int64_t> known_;    ///< Number of iterations.
  bool always_ = true;                   ///< Nothing but the number of iterations ends it.
  bool condition_ = true, next_ = true;
};

} // namespace lanner
