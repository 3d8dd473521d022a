#include "graph/storage/within.h"

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

Shape memory_shape(const Storage& storage, const Shape& shape) {
  if (!storage.within) return shape;
  Shape whole = shape;
  whole[static_cast<std::size_t>(storage.within.axis)] = storage.within.size;
  return whole;
}

std::vector<std::int64_t> memory_strides(const Storage& storage, const Shape& shape) {
  return storage.layout.strides(memory_shape(storage, shape));
}

std::uint64_t memory_bytes(const Storage& storage, const Shape& shape, DType type) {
  const std::uint64_t whole = storage.layout.bytes(memory_shape(storage, shape), type);
  if (!storage.within) return whole;
  if (shape.elements() == 0) return 0;
  const auto axis = static_cast<std::size_t>(storage.within.axis);
  const auto rest =
      static_cast<std::uint64_t>((storage.within.size - shape[axis]) * memory_strides(storage, shape)[axis]);
  return whole - rest * (bit_width(type) / 8);
}

MemorySlices memory_slices_of(const Storage& storage, const Shape& shape, DType type) {
  if (!storage.within) return {};
  const auto axis = static_cast<std::size_t>(storage.within.axis);
  const auto step = static_cast<std::uint64_t>(memory_strides(storage, shape)[axis]) * (bit_width(type) / 8);
  return {step * static_cast<std::uint64_t>(shape[axis]),
          step * static_cast<std::uint64_t>(storage.within.size)};
}

void check_within(const Type& type, const Storage& storage) {
  const Within& within = storage.within;
  if (!within) return;
  check(type.is_static() && type.dtype() != DType::string, ErrorCode::invalid_argument,
        "is within a larger value, but its own size is not known before running");
  const Shape shape = type.shape();
  const auto axis = static_cast<std::size_t>(within.axis);
  check(axis < shape.rank(), ErrorCode::invalid_argument,
        "is within a larger value along dim {}, but has {} dims", within.axis, shape.rank());
  check(within.size >= shape[axis] && within.size > 0, ErrorCode::invalid_argument,
        "is within {} elements along dim {}, but has {} there", within.size, within.axis, shape[axis]);
  check(storage.layout.blocks.empty() && !storage.quantization &&
            bit_width(storage.dtype.value_or(type.dtype())) % 8 == 0,
        ErrorCode::invalid_argument,
        "is within a larger value, which needs a layout without blocks and whole bytes that are not "
        "quantised, got {}",
        storage.to_string());
  static_cast<void>(storage.layout.bytes(memory_shape(storage, shape), storage.dtype.value_or(type.dtype())));
}

} // namespace lanner
