#include <lanner/shape.h>

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>
#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

void require_not_negative(const Shape& shape) {
  for (std::int64_t size : shape)
    check(size >= 0, ErrorCode::invalid_argument, "shape: a size of {} is negative", size);
}

} // namespace

std::int64_t Shape::elements() const {
  require_not_negative(*this);
  if (std::find(dims_.begin(), dims_.end(), 0) != dims_.end()) return 0;
  constexpr std::uint64_t bound = std::numeric_limits<std::int64_t>::max();
  std::uint64_t count = 1;
  for (std::int64_t size : dims_)
    count = checked_product(count, static_cast<std::uint64_t>(size), bound, "shape");
  return static_cast<std::int64_t>(count);
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(dims_, ", "));
}

std::vector<std::int64_t> dense_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank());
  constexpr std::uint64_t bound = std::numeric_limits<std::int64_t>::max();
  std::uint64_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(stride);
    stride = checked_product(stride, static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1)), bound,
                             "shape");
  }
  return strides;
}

Shape broadcast(std::span<const Shape> shapes) {
  std::vector<std::int64_t> result;
  for (const Shape& shape : shapes) {
    if (shape.rank() > result.size()) result.insert(result.begin(), shape.rank() - result.size(), 1);
    const std::size_t skip = result.size() - shape.rank();
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      std::int64_t& merged = result[skip + i];
      if (merged == 1) merged = shape[i];
      check(shape[i] == merged || shape[i] == 1, ErrorCode::invalid_argument,
            "broadcast: shape {} does not fit {}; from the last dimension on, sizes must be equal or 1",
            shape.to_string(), Shape(result).to_string());
    }
  }
  return Shape(std::move(result));
}

} // namespace lanner
