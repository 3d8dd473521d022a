#include "backends/elementwise/tiles.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/bf16.h"
#include "backends/storage_layout.h"

namespace lanner {

OperandWalk::OperandWalk(const Shape& result, const Layout& layout, const Shape& operand) {
  const std::vector<MemoryAxis> axes = memory_axes(layout, result);
  const std::size_t missing = result.rank() - operand.rank();
  std::int64_t next = 1; // Stride of the next axis that the operand has.
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->size == 1) continue;
    const bool spread = axis->dim < missing || operand[axis->dim - missing] == 1;
    const std::int64_t stride = spread ? 0 : next;
    if (!spread) next *= axis->size;
    const bool merges = !loops_.empty() && (spread ? loops_.back().stride == 0
                                                   : loops_.back().stride != 0 &&
                                                         stride == loops_.back().size * loops_.back().stride);
    if (merges)
      loops_.back().size *= axis->size;
    else
      loops_.push_back({axis->size, stride});
  }
  const std::size_t repeated = !loops_.empty() && loops_.back().stride == 0 ? 1 : 0;
  for (std::size_t i = 0; i + repeated < loops_.size(); ++i) period_ *= loops_[i].size;
}

bool OperandWalk::contiguous_in_period() const noexcept {
  return contiguous() || (loops_.size() == 2 && loops_[0].stride == 1 && loops_[1].stride == 0);
}

template<typename T>
void OperandWalk::fetch(const T* operand, std::int64_t first, std::int64_t count, float* tile) const {
  if (loops_.empty()) {
    std::fill_n(tile, count, static_cast<float>(*operand));
    return;
  }
  const Loop inner = loops_.front();
  while (count > 0) {
    std::int64_t rest = first / inner.size, offset = 0;
    const std::int64_t start = first % inner.size, run = std::min(count, inner.size - start);
    for (std::size_t i = 1; i < loops_.size() && rest > 0; ++i) {
      offset += rest % loops_[i].size * loops_[i].stride;
      rest /= loops_[i].size;
    }
    const T* from = operand + offset + start * inner.stride;
    if (inner.stride == 0)
      std::fill_n(tile, run, static_cast<float>(*from));
    else
      for (std::int64_t i = 0; i < run; ++i) tile[i] = static_cast<float>(from[i * inner.stride]);
    tile += run;
    first += run;
    count -= run;
  }
}

template void OperandWalk::fetch(const float*, std::int64_t, std::int64_t, float*) const;
template void OperandWalk::fetch(const Bf16*, std::int64_t, std::int64_t, float*) const;
template void OperandWalk::fetch(const bool*, std::int64_t, std::int64_t, float*) const;
template void OperandWalk::fetch(const std::int8_t*, std::int64_t, std::int64_t, float*) const;
template void OperandWalk::fetch(const std::uint8_t*, std::int64_t, std::int64_t, float*) const;
template void OperandWalk::fetch(const std::int16_t*, std::int64_t, std::int64_t, float*) const;
template void OperandWalk::fetch(const std::uint16_t*, std::int64_t, std::int64_t, float*) const;
template void OperandWalk::fetch(const std::int32_t*, std::int64_t, std::int64_t, float*) const;

} // namespace lanner
