#include <cstring>

#include <lanner/task.h>

#include "base/check.h"
#include "base/limits/limit_error.h"

namespace lanner {

std::int64_t TaskResult::count() const noexcept {
  return labels.defined() && labels.rank() == 1 ? labels.shape()[0] : 0;
}

Tensor TaskResult::full_masks(const Limits& limits) const {
  check(kind == TaskKind::segment, ErrorCode::invalid_argument,
        "full_masks: the task is {}, expected segment", to_string(kind));
  const auto count = static_cast<std::int64_t>(masks.size());
  limited_product("tensor_bytes", limits.tensor_bytes,
                  static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height),
                  static_cast<std::uint64_t>(count), "full_masks");
  Tensor all = Tensor::allocate(DType::u8, {count, height, width}, {}, {}, limits);
  const auto bytes = all.as<std::uint8_t>();
  std::memset(bytes.data(), 0, bytes.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& [place, inside] = masks[static_cast<std::size_t>(i)];
    const std::uint8_t* from = place.width > 0 ? inside.as<std::uint8_t>().data() : nullptr;
    for (std::int32_t y = 0; y < place.height && from; ++y)
      std::memcpy(bytes.data() + (i * height + place.y + y) * width + place.x,
                  from + std::int64_t{y} * place.width, static_cast<std::size_t>(place.width));
  }
  return all;
}

} // namespace lanner
