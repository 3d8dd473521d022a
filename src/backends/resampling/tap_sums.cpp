#include "backends/resampling/tap_sums.h"

#include <algorithm>

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const TapSumFunctions& tap_sum_functions() {
  static const TapSumFunctions& chosen =
      for_this_cpu(tap_sum_functions_baseline, tap_sum_functions_avx2, tap_sum_functions_avx512);
  return chosen;
}

TapLineLists::TapLineLists(const ops::ResampledAxis& axis, std::int64_t size, std::int64_t lanes)
    : size_(size) {
  const auto count = static_cast<std::int64_t>(axis.begins.size()) - 1;
  for (std::int64_t first = 0; first < count; first += lanes)
    add_vector(axis, first, std::min(lanes, count - first), lanes);
}

void TapLineLists::add_vector(const ops::ResampledAxis& axis, std::int64_t first, std::int64_t count,
                              std::int64_t lanes) {
  const std::int32_t* const begins = axis.begins.data() + first;
  LineVector vector{.begin = static_cast<std::int64_t>(indices_.size()), .common = begins[1] - begins[0]};
  for (std::int64_t i = 0; i < count; ++i) {
    vector.taps = std::max(vector.taps, begins[i + 1] - begins[i]);
    vector.common = std::min(vector.common, begins[i + 1] - begins[i]);
  }
  const auto from = axis.indices.begin() + begins[0], to = axis.indices.begin() + begins[count];
  const std::int64_t low = from == to ? 0 : *std::min_element(from, to),
                     high = from == to ? 0 : *std::max_element(from, to);
  const std::int64_t vectors = (high - low) / lanes + 1;
  if (vectors <= 2) vector.reach = vectors == 1 ? LineVector::Reach::one : LineVector::Reach::two;
  // Shifted back from the end of a line, so that full vectors fit where the line is long enough.
  const std::int64_t back = vectors <= 2 ? std::clamp<std::int64_t>(size_ - vectors * lanes, 0, low) : low;
  vector.base = static_cast<std::int32_t>(back);
  for (std::int32_t t = 0; t < vector.taps; ++t)
    for (std::int64_t i = 0; i < lanes; ++i) {
      // Lanes after the last result read valid memory and are not stored.
      const bool idle = i >= count, lacks = !idle && t >= begins[i + 1] - begins[i];
      const std::size_t tap = idle || lacks ? 0 : static_cast<std::size_t>(begins[i] + t);
      indices_.push_back(lacks ? -1 : idle ? 0 : axis.indices[tap] - vector.base);
      weights_.push_back(idle || lacks ? 0 : axis.weights[tap]);
    }
  vectors_.push_back(vector);
}

} // namespace lanner
