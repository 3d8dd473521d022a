#pragma once
// Which weights stay on a device, where a budget leaves no room for all.

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

/// What the steps of a program read of constants on its device, which is none of the host.
struct WeightNeeds {
  /// A step that is recorded, and what it reads.
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

/// Memory of a constant as it is read on a device.
struct WeightForm {
  Device device;
  const void* data = nullptr; ///< On the host.
  std::uint64_t bytes = 0;
  friend auto operator<=>(const WeightForm&, const WeightForm&) = default;
};
WeightForm form_of(const Tensor& form, Device device);

/// What memory of a device that is shared by weights is aligned to, and counted in.
std::uint64_t aligned_weight(std::uint64_t bytes);

/// Bytes of weights on the device, each once for all programs.
struct WeightBytes {
  std::uint64_t all = 0;
  std::uint64_t streamable = 0;
  std::uint64_t least = 0;    ///< The least budget.
  std::uint64_t resident = 0; ///< That stay there.
  std::uint64_t ring = 0;     ///< Through which a context streams the others; 0 where there are none.
  friend bool operator==(const WeightBytes&, const WeightBytes&) = default;
};

struct WeightChoice {
  std::set<WeightForm> streamed; ///< The others stay.
  WeightBytes bytes;
};

/// The bytes that a run copies are the same whichever weights stay, but the largest of those that do not
/// decide the size of the ring: so the largest stay. Of equal ones those stay that leave the others spread
/// over the run. The ring takes two blocks that follow each other, so that one is copied while the other is
/// read, or, where the budget is less than that, the largest alone; and what is left of the budget. Throws
/// Error{invalid_argument} for a budget that is less than the least. No budget: all stay.
WeightChoice choose_weights(std::span<const WeightNeeds* const> programs,
                            std::optional<std::uint64_t> budget);

} // namespace lanner
