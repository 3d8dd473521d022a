#include "lower/check/trial_parts.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "backends/movement/copy_box.h"
#include "graph/storage/within.h"

namespace lanner {
namespace {

std::size_t element_of(const Tensor& tensor) {
  return bit_width(tensor.dtype()) / 8;
}

Box box_into(const Shape& shape, const Storage& storage) {
  return simplified({shape.dims(), dense_strides(shape), memory_strides(storage, shape)});
}

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(const_cast<void*>(tensor.data())), tensor.bytes()};
}

} // namespace

Tensor spread_part(const Tensor& part, const Storage& storage, unsigned char between) {
  Tensor whole = Tensor::allocate(part.dtype(), memory_shape(storage, part.shape()), storage.layout);
  std::ranges::fill(bytes_of(whole), std::byte{between});
  copy_box(box_into(part.shape(), storage), part.data(), whole.data(), element_of(part), 1);
  return whole.to(storage.device);
}

Tensor part_within(const Tensor& whole, const Storage& storage, const Shape& shape) {
  Tensor part = Tensor::allocate(whole.dtype(), shape);
  const Box box = simplified({shape.dims(), memory_strides(storage, shape), dense_strides(shape)});
  copy_box(box, whole.data(), part.data(), element_of(part), 1);
  return part;
}

bool kept_between(const Tensor& whole, const Storage& storage, const Shape& shape, unsigned char between) {
  Tensor copy = Tensor::allocate(whole.dtype(), whole.shape(), whole.layout());
  std::memcpy(copy.data(), whole.data(), whole.bytes());
  const Tensor blank = Tensor::allocate(whole.dtype(), shape);
  std::ranges::fill(bytes_of(blank), std::byte{between});
  copy_box(box_into(shape, storage), blank.data(), copy.data(), element_of(copy), 1);
  return std::ranges::all_of(bytes_of(copy), [&](std::byte byte) { return byte == std::byte{between}; });
}

} // namespace lanner
