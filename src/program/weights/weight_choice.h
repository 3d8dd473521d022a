#pragma once
// Chooses which weights are resident on a device within a budget.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <lanner/device.h>
#include <lanner/tensor.h>

namespace lanner {

/// The constants on a GPU that the steps of a program read.
struct WeightNeeds {
  /// A recorded step and the constants that it reads.
  struct Reader {
    std::size_t segment = 0, step = 0;
    std::vector<std::uint32_t> constants; ///< Each once.
  };
  Device device;
  std::vector<Tensor> forms;   ///< By constant, on the host.
  std::vector<Device> devices; ///< By constant: where it is read.
  std::vector<bool> recorded;  ///< By constant: whether steps of `readers` alone read it.
  std::vector<Reader> readers; ///< In the order in which they run.
};

/// The packed form of a constant on a device.
struct WeightForm {
  Device device;
  const void* data = nullptr; ///< On the host.
  std::uint64_t bytes = 0;
  friend auto operator<=>(const WeightForm&, const WeightForm&) = default;
};
WeightForm form_of(const Tensor& form, Device device);

/// `bytes` rounded up to the alignment of weights in shared device memory.
std::uint64_t aligned_weight(std::uint64_t bytes);

/// Bytes of weights on the device, each once for all programs.
struct WeightBytes {
  std::uint64_t all = 0;
  std::uint64_t streamable = 0;
  std::uint64_t least = 0;    ///< The least budget.
  std::uint64_t resident = 0; ///< Of resident weights.
  std::uint64_t ring = 0;     ///< Of each context's ring for the others; 0 where all are resident.
  friend bool operator==(const WeightBytes&, const WeightBytes&) = default;
};

struct WeightChoice {
  std::set<WeightForm> streamed; ///< The others are resident.
  WeightBytes bytes;
};

/// The bytes copied per run do not depend on which weights are resident, but the largest streamed one decides
/// the size of the ring: so the largest are resident. Of equal ones those are chosen that leave the streamed
/// ones spread over the run. The ring holds two consecutive blocks, so that one is copied while the other is
/// read, or, where the budget is less than that, the largest alone; and gets the rest of the budget. Throws
/// Error{invalid_argument} for a budget that is less than the least. No budget: all are resident.
WeightChoice choose_weights(std::span<const WeightNeeds* const> programs,
                            std::optional<std::uint64_t> budget);

} // namespace lanner
