#include <lanner/tensor.h>

#include <cstring>
#include <new>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "tensor/float16.h"
#include "tensor/strings.h"

namespace lanner {

Tensor::Tensor(const Tensor&) = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;

Tensor Tensor::allocate(DType type, Shape shape, Layout layout, Device device, const Limits& limits) {
  check(device.is_host() || type != DType::string, ErrorCode::invalid_argument,
        "tensor: strings cannot be on {}; allocate them on cpu", device.to_string());
  check_limit("rank", shape.rank(), limits.rank, "tensor: rank {}", shape.rank());
  const std::uint64_t bytes = layout.bytes(shape, type);
  if (bytes > limits.tensor_bytes)
    fail_limit("tensor_bytes", limits.tensor_bytes, "tensor: {}{} takes {} bytes", to_string(type),
               shape.to_string(), bytes);
  auto owner = with_context([] { return "tensor"; },
                            [&] {
                              return type == DType::string ? allocate_strings(bytes / sizeof(std::string))
                                                           : allocate_memory(device, bytes);
                            });
  void* data = owner.get();
  return wrap(data, type, std::move(shape), std::move(owner), std::move(layout), device);
}

Tensor Tensor::zeros(DType type, Shape shape, Layout layout) {
  Tensor result = allocate(type, std::move(shape), std::move(layout));
  if (type != DType::string) std::memset(result.data(), 0, result.bytes());
  return result;
}

Tensor Tensor::wrap(void* data, DType type, Shape shape, std::shared_ptr<const void> owner, Layout layout,
                    Device device) {
  Tensor result;
  result.data_ = data;
  result.owner_ = std::move(owner);
  result.dtype_ = type;
  result.device_ = device;
  result.shape_ = std::move(shape);
  result.layout_ = std::move(layout);
  return result;
}

Tensor Tensor::reshaped(Shape shape) const {
  check(layout_.row_major(), ErrorCode::invalid_argument,
        "reshape: layout {} is not row-major; clone() first", layout_.to_string());
  check(shape.elements() == elements(), ErrorCode::invalid_argument,
        "reshape: {} has {} elements, {} has {}; they must be equal", shape_.to_string(), elements(),
        shape.to_string(), shape.elements());
  Tensor result = *this;
  result.shape_ = std::move(shape);
  result.layout_ = {};
  return result;
}

Tensor Tensor::clone() const {
  Limits unbounded;
  unbounded.tensor_bytes = UINT64_MAX;
  unbounded.rank = UINT32_MAX;
  Tensor result = allocate(dtype_, shape_, {}, {}, unbounded);
  copy_tensor(device_.is_host() ? *this : to(Device{}), result);
  return result;
}

Tensor Tensor::to(Device device) const {
  if (device == device_) return *this;
  check(dtype_ != DType::string, ErrorCode::invalid_argument, "tensor: strings cannot be on {}",
        (device.is_host() ? device_ : device).to_string());
  Limits unbounded;
  unbounded.tensor_bytes = UINT64_MAX;
  unbounded.rank = UINT32_MAX;
  Tensor result = allocate(dtype_, shape_, layout_, device, unbounded);
  const cuda::Queueing queueing(device.is_host() ? device_ : device);
  copy_memory({result.data_, device}, {data_, device_}, bytes());
  synchronize(device.is_host() ? device_ : device);
  return result;
}

void Tensor::require(DType type) const {
  check(dtype_ == type, ErrorCode::internal, "tensor: read as {} but holds {}", lanner::to_string(type),
        lanner::to_string(dtype_));
  check(device_.is_host(), ErrorCode::internal, "tensor: read on the host but is on {}", device_.to_string());
}

std::uint64_t Tensor::storage_elements() const {
  return static_cast<std::uint64_t>(layout_.padded(shape_).elements());
}

Half::Half(float value) noexcept : bits(float_to_half(value)) {}
Half::operator float() const noexcept {
  return half_to_float(bits);
}
BFloat16::BFloat16(float value) noexcept : bits(float_to_bfloat16(value)) {}
BFloat16::operator float() const noexcept {
  return bfloat16_to_float(bits);
}

} // namespace lanner
