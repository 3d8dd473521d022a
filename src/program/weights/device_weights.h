#pragma once
// The weights of programs on their device: which stay there, and which are streamed, within a budget. One
// table serves all programs of an engine.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <lanner/device.h>
#include <lanner/tensor.h>

#include "program/weights/weight_choice.h"
#include "program/weights/weight_ring.h"

namespace lanner {

/// Where the constants of a program are. Holds their memory.
struct PlacedWeights {
  /// Into the ring, before the block's step.
  struct Copy {
    std::uint32_t constant = 0;
    std::uint64_t offset = 0; ///< In the ring.
  };
  /// By constant: where it is read; of a streamed one the pinned copy on the host.
  std::vector<Tensor> constants;
  std::vector<bool> streamed;      ///< By constant.
  std::vector<WeightBlock> blocks; ///< In order of steps; none where all are on the device.
  std::vector<Copy> copies;
  std::uint64_t ring_bytes = 0; ///< Of the device, for each context.
};

class DeviceWeights;

/// The weights of one program in the table. Thread-safe.
class ProgramWeights {
public:
  std::shared_ptr<const PlacedWeights> placed() const;

private:
  friend class DeviceWeights;
  WeightNeeds needs_;
  mutable std::mutex mutex_; ///< Of what follows.
  std::shared_ptr<const PlacedWeights> placed_;
};

/// Thread-safe.
class DeviceWeights {
public:
  /// `form`, host memory that lives as long as this, on a device: one copy while anybody holds it.
  Tensor on(const Tensor& form, Device device);

  /// Finds places for a program's constants; those of others may change. Throws Error{invalid_argument} where
  /// the budget is too small, and what allocations throw.
  std::shared_ptr<const ProgramWeights> add(WeightNeeds needs);

  /// Of each device; unset: everything stays there. Programs get new places. Throws as add() does, and then
  /// nothing has changed.
  void set_budget(std::optional<std::uint64_t> bytes);
  std::optional<std::uint64_t> budget() const;
  WeightBytes bytes() const; ///< Of the programs that there were when one was added last.
  /// Changes when places do: who keeps some looks again.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  /// A table with this budget, for no program yet, that knows the copies of forms for which `same` holds.
  std::shared_ptr<DeviceWeights> with_copies(const std::function<bool(const Tensor& form)>& same) const;

private:
  struct Copied {
    Tensor form; ///< Held, so that its address stays its own.
    std::weak_ptr<const void> on_device, pinned;
  };
  using ProgramPtr = std::shared_ptr<ProgramWeights>;

  static WeightChoice choice_of(const std::vector<ProgramPtr>& programs, std::optional<std::uint64_t> budget);
  std::vector<ProgramPtr> programs();
  Tensor resident(const Tensor& form, Device device);
  Tensor pinned(const Tensor& form, Device device);
  std::shared_ptr<const PlacedWeights> place(const WeightNeeds& needs, const WeightChoice& choice);
  void place_all(const std::vector<ProgramPtr>& programs, WeightChoice choice);

  mutable std::mutex mutex_;
  std::map<WeightForm, Copied> copies_;
  std::optional<std::uint64_t> budget_;
  std::vector<std::weak_ptr<ProgramWeights>> programs_;
  WeightChoice choice_; ///< What holds for the programs that there are.
  std::atomic<std::uint64_t> version_{0};
};

} // namespace lanner
