#include "tasks/read/values.h"

#include "base/check.h"
#include "device/cpu.h"
#include "tasks/cuda/work_queue.h"
#include "tasks/declare/names.h"
#include "tasks/read/halves.h"
#include "tensor/cast.h"
#include "tensor/float16.h"
#include "tensor/half_types.h"

namespace lanner::tasks {
namespace {

const Tensor& output_called(const Outputs& outputs, const std::string& name, std::string_view part) {
  const auto found = outputs.find(name);
  check(found != outputs.end() && found->second.defined(), ErrorCode::invalid_argument,
        "task: output {} ({}) was not given", one_line(name, shown_text), part);
  const Tensor& tensor = found->second;
  check(tensor.dtype() != DType::string && !is_complex(tensor.dtype()) && bit_width(tensor.dtype()) >= 8,
        ErrorCode::unsupported, "task: output {} ({}) is {}, expected numbers", one_line(name, shown_text),
        part, to_string(tensor.dtype()));
  return tensor;
}

/// One element of a tensor with a batch.
Values element_of(const Tensor& tensor, const std::string& name, std::int64_t element) {
  check(tensor.rank() > 0 && element >= 0 && element < tensor.shape()[0], ErrorCode::invalid_argument,
        "task: output {} is {}{}, it has no element {}", one_line(name, shown_text),
        to_string(tensor.dtype()), tensor.shape().to_string(), element);
  const Tensor plain = tensor.layout().row_major() ? tensor : tensor.clone();
  Shape shape(std::span(plain.shape().dims()).subspan(1));
  const std::int64_t offset =
      element * shape.elements() * static_cast<std::int64_t>(bit_width(plain.dtype()) / 8);
  auto* const bytes = const_cast<std::byte*>(static_cast<const std::byte*>(plain.data()));
  return Values(
      Tensor::wrap(bytes + offset, plain.dtype(), std::move(shape), plain.owner(), {}, plain.device()));
}

} // namespace

Values::Values(Tensor tensor) : tensor_(std::move(tensor)) {
  if (!tensor_.layout().row_major()) tensor_ = tensor_.clone();
  if (!tensor_.device().is_host() && !cuda::stays(tensor_)) tensor_ = cuda::fetched(tensor_);
  if (tensor_.dtype() != DType::f32 && !is_half(tensor_.dtype())) {
    Tensor floats = Tensor::allocate(DType::f32, tensor_.shape());
    copy_tensor(tensor_, floats);
    tensor_ = std::move(floats);
  }
  size_ = tensor_.elements();
}

Values::Values(Tensor rows, Shape whole, RowNumbers numbers)
    : tensor_(std::move(rows)), size_(tensor_.elements()), whole_(std::move(whole)),
      numbers_(std::move(numbers)) {}

Values Values::on_host() const {
  return remote() ? Values(cuda::fetched(tensor_)) : *this;
}

float Values::operator[](std::int64_t i) const {
  if (tensor_.dtype() == DType::f32) return static_cast<const float*>(tensor_.data())[i];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(tensor_.data())[i];
  return tensor_.dtype() == DType::f16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

const float* Values::run(std::int64_t from, std::int64_t count, float* buffer) const {
  if (tensor_.dtype() == DType::f32) return static_cast<const float*>(tensor_.data()) + from;
  const auto* const bits = static_cast<const std::uint16_t*>(tensor_.data()) + from;
  if (tensor_.dtype() == DType::f16 && cpu_features().has_avx2())
    halves_to_floats_avx2(bits, count, buffer);
  else
    cast_elements(tensor_.dtype(), bits, DType::f32, buffer, static_cast<std::size_t>(count));
  return buffer;
}

Values element_values(const Outputs& outputs, const std::string& name, std::string_view part,
                      std::int64_t element, std::size_t ranks) {
  const Tensor& tensor = output_called(outputs, name, part);
  if (tensor.rank() == ranks + 1) return element_of(tensor, name, element);
  check(tensor.rank() == ranks, ErrorCode::invalid_argument,
        "task: output {} ({}) is {}{}, expected {} dims, or {} without a batch", one_line(name, shown_text),
        part, to_string(tensor.dtype()), tensor.shape().to_string(), ranks + 1, ranks);
  check(element == 0, ErrorCode::invalid_argument, "task: output {} ({}) is {}{}, it has no element {}",
        one_line(name, shown_text), part, to_string(tensor.dtype()), tensor.shape().to_string(), element);
  return Values(tensor);
}

Values batched_values(const Outputs& outputs, const std::string& name, std::string_view part,
                      std::int64_t element) {
  return element_of(output_called(outputs, name, part), name, element);
}

} // namespace lanner::tasks
