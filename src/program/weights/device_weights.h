#pragma once
// Device memory of programs' weights: which are resident and which are streamed within a budget. One table
// for all programs of an engine.

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

/// Locations of a program's constants. Owns their memory.
struct WeightLocations {
  /// A copy into the ring before the block's step.
  struct Copy {
    std::uint32_t constant = 0;
    std::uint64_t offset = 0; ///< In the ring.
  };
  /// By constant: the tensor that is read; of a streamed one the pinned copy on the host.
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
  std::shared_ptr<const WeightLocations> placed() const;

private:
  friend class DeviceWeights;
  WeightNeeds needs_;
  mutable std::mutex mutex_; ///< Of the members below.
  std::shared_ptr<const WeightLocations> placed_;
};

/// Thread-safe.
class DeviceWeights {
public:
  /// `form`, host memory that lives as long as this, on a device: one copy, shared while referenced.
  Tensor on(const Tensor& form, Device device);

  /// Places a program's constants; those of others may move. Throws Error{invalid_argument} where
  /// the budget is too small, and what allocations throw.
  std::shared_ptr<const ProgramWeights> add(WeightNeeds needs);

  /// Budget of each device; unset: all weights are resident. Weights are placed anew. Throws as add() does,
  /// and then nothing has changed.
  void set_budget(std::optional<std::uint64_t> bytes);
  std::optional<std::uint64_t> budget() const;
  WeightBytes bytes() const; ///< For the programs as of the last add().
  /// Changes whenever weights are placed anew: users then call weights() again.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  /// An empty table with this budget that shares the copies of forms for which `same` holds.
  std::shared_ptr<DeviceWeights> with_copies(const std::function<bool(const Tensor& form)>& same) const;

private:
  struct Copied {
    Tensor form; ///< Referenced, so that its address is not reused.
    std::weak_ptr<const void> on_device, pinned;
  };
  using ProgramPtr = std::shared_ptr<ProgramWeights>;

  static WeightChoice choice_of(const std::vector<ProgramPtr>& programs, std::optional<std::uint64_t> budget);
  std::vector<ProgramPtr> programs();
  Tensor resident(const Tensor& form, Device device);
  Tensor pinned(const Tensor& form, Device device);
  std::shared_ptr<const WeightLocations> place(const WeightNeeds& needs, const WeightChoice& choice);
  void place_all(const std::vector<ProgramPtr>& programs, WeightChoice choice);

  mutable std::mutex mutex_;
  std::map<WeightForm, Copied> copies_;
  std::optional<std::uint64_t> budget_;
  std::vector<std::weak_ptr<ProgramWeights>> programs_;
  WeightChoice choice_; ///< For the current programs.
  std::atomic<std::uint64_t> version_{0};
};

} // namespace lanner
