#pragma once
// A step that runs its region turn by turn.

#include <optional>

#include "ops/control_flow.h"
#include "run/body_run.h"

namespace lanner {

/// One output that turns write side by side.
class StackedOutput {
public:
  StackedOutput(const Turns::Stacked& plan, const Type& element, Device device)
      : plan_(plan), element_(element), device_(device) {}

  /// `turns` where their number is known, else `most` bounds it.
  void begin(const StepOutput& outlet, std::optional<std::int64_t> turns, std::int64_t most,
             const Mover& mover);
  /// Memory that turn `turn` may write to; null where there is none for it alone.
  void* place(std::int64_t turn, std::byte* workspace, const Mover& mover);
  /// Turn `turn` has run.
  void take(std::int64_t turn, const StepInput& value, const Mover& mover);
  void finish(std::int64_t turns, const Mover& mover);
  void clear();

private:
  Shape shape(std::int64_t turns) const;
  void reserve(std::int64_t turns, const Mover& mover);
  bool fits(std::int64_t turns) const;
  std::int64_t index(std::int64_t turn) const;

  const Turns::Stacked& plan_;
  const Type& element_; ///< What a turn gives.
  Device device_;       ///< Where, if it is plain memory.
  StepOutput outlet_;
  Tensor made_; ///< Row-major; the outlet's memory or, for an item, its own.
  std::optional<std::int64_t> turns_;
  std::int64_t max_ = 0, capacity_ = 0;
  ops::Stack list_; ///< Of elements whose size is not known.
};

/// A `loop` or `scan`.
class TurnsStep final : public RegionStep {
public:
  TurnsStep(const Step& step, const BodyMemory& memory);
  void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
           const RunRequest& request) override;

private:
  /// A carried value between two turns: where it lies, or the item.
  struct State {
    const void* memory = nullptr;
    Item item;
    void* next = nullptr; ///< Where this turn's result goes.
  };
  void begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs, const Mover& mover);
  void begin_scan(std::span<const StepInput> inputs, const Mover& mover);
  void give_turn(std::int64_t turn, const Mover& mover);
  void give_control(std::size_t parameter, const void* value, std::uint64_t buffer, const Mover& mover);
  void place_results(std::int64_t turn, const Mover& mover);
  void take_results(std::int64_t turn, const Mover& mover);
  void take_carried(std::size_t i, const Mover& mover);
  void give_slice(std::size_t i, std::int64_t turn, const Mover& mover);
  bool goes_on(const Mover& mover) const;
  void finish(std::int64_t turns, const Mover& mover);
  void clear();
  /// Says where result `k` goes unless an output that is the same value was asked first.
  bool claim(std::size_t k, void* memory);

  const Node& node_;
  const Turns& plan_;
  const Device device_; ///< Of what lies in memory.
  std::byte* workspace_;
  BodyRun body_;
  std::span<const StepOutput> outputs_;
  std::vector<State> carried_;
  std::vector<StackedOutput> stacked_;
  std::vector<Tensor> scanned_;
  std::vector<bool> claimed_, direct_; ///< By computed result; by result of the region.
  std::int64_t turn_ = 0, max_ = 0;    ///< turn_ is what the region reads.
  std::optional<std::int64_t> known_;  ///< Number of turns.
  bool always_ = true;                 ///< Nothing but the number of turns ends it.
  bool condition_ = true, next_ = true;
};

} // namespace lanner
