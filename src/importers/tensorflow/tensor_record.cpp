#include "importers/tensorflow/tensor_record.h"

#include <algorithm>
#include <cstring>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "tensor/strings.h"

namespace lanner::tensorflow {
namespace {

/// Added to the type's number where a tensor is declared as a reference.
constexpr std::int64_t reference_offset = 100;

Shape checked_shape(const TensorRecord& record, const Limits& limits) {
  Shape shape;
  if (!record.dims) return shape;
  check_limit("rank", record.dims->size(), limits.rank, "a tensor of rank {}", record.dims->size());
  std::uint64_t elements = 1;
  for (const Dim& dim : *record.dims) {
    check(dim.is_constant(), ErrorCode::bad_data, "a tensor's size is negative or unknown");
    elements =
        limited_product("tensor_bytes", limits.tensor_bytes, elements,
                        std::max<std::uint64_t>(static_cast<std::uint64_t>(dim.value()), 1), "elements");
    shape.push_back(dim.value());
  }
  return shape;
}

/// The values given; the last one fills the rest. Zeros where there is none.
template<typename From, typename To>
void fill(const std::vector<From>& values, std::span<To> elements) {
  const std::size_t given = std::min(values.size(), elements.size());
  std::copy_n(values.begin(), given, elements.begin());
  const To last = given > 0 ? elements[given - 1] : To{};
  for (To& element : elements.subspan(given)) assign_element(element, last);
}

void fill_strings(const std::vector<std::string>& values, Tensor& tensor) {
  Meter meter; // the last value may be long, and the tensor large
  fill(values, tensor.as<std::string>());
  own_characters(tensor);
}

template<typename To>
void narrow(const std::vector<std::int64_t>& values, Tensor& tensor) {
  std::vector<To> bits;
  for (std::int64_t value : values) bits.push_back(static_cast<To>(value));
  fill(bits, std::span(static_cast<To*>(tensor.data()), static_cast<std::size_t>(tensor.elements())));
}

void fill_integers(const std::vector<std::int64_t>& values, Tensor& tensor) {
  switch (bit_width(tensor.dtype())) {
  case 64:
    return narrow<std::uint64_t>(values, tensor);
  case 32:
    return narrow<std::uint32_t>(values, tensor);
  case 16:
    return narrow<std::uint16_t>(values, tensor);
  default:
    return narrow<std::uint8_t>(values, tensor);
  }
}

template<typename To>
void fill_reals(const std::vector<double>& values, Tensor& tensor) {
  std::vector<To> narrowed;
  for (double value : values) narrowed.push_back(static_cast<To>(value));
  fill(narrowed, tensor.as<To>());
}

} // namespace

DType dtype_of_tensorflow(std::int64_t data_type) {
  const std::int64_t number = data_type > reference_offset ? data_type - reference_offset : data_type;
  switch (number) {
  case 1:
    return DType::f32;
  case 2:
    return DType::f64;
  case 3:
    return DType::i32;
  case 4:
    return DType::u8;
  case 5:
    return DType::i16;
  case 6:
    return DType::i8;
  case 7:
    return DType::string;
  case 8:
    return DType::c64;
  case 9:
    return DType::i64;
  case 10:
    return DType::boolean;
  case 14:
    return DType::bf16;
  case 17:
    return DType::u16;
  case 18:
    return DType::c128;
  case 19:
    return DType::f16;
  case 22:
    return DType::u32;
  case 23:
    return DType::u64;
  default:
    fail(ErrorCode::unsupported,
         "element type {} of TensorFlow; expected plain numbers, booleans or strings{}", data_type,
         number == 20 ? " (20 is a resource: freeze the model's variables first)" : "");
  }
}

Tensor TensorReader::allocate(DType type, const Shape& shape) {
  const std::uint64_t bytes = type == DType::string
                                  ? static_cast<std::uint64_t>(shape.elements()) * sizeof(std::string)
                                  : Layout{}.bytes(shape, type);
  check_limit("tensor_bytes", bytes, limits_.tensor_bytes, "a tensor of {} bytes", bytes);
  taken_ += bytes;
  check_limit("total_bytes", taken_, limits_.total_bytes, "the model's tensors take {} bytes", taken_);
  return Tensor::allocate(type, shape);
}

Tensor TensorReader::from_content(const TensorRecord& record, DType type, const Shape& shape) {
  check(type != DType::string, ErrorCode::bad_data, "tensor_content cannot hold strings");
  const std::uint64_t needed = Layout{}.bytes(shape, type);
  check(record.content.size() == needed, ErrorCode::bad_data, "{}{} needs {} bytes, tensor_content has {}",
        to_string(type), shape.to_string(), needed, record.content.size());
  const auto* data = reinterpret_cast<const std::byte*>(record.content.data());
  const std::byte* begin = file_.bytes.data();
  const bool of_file = file_.owner && data >= begin && data + needed <= begin + file_.bytes.size();
  const std::size_t alignment = std::max<std::size_t>(bit_width(type) / 8, 1);
  if (of_file && reinterpret_cast<std::uintptr_t>(data) % alignment == 0)
    return Tensor::wrap(const_cast<std::byte*>(data), type, shape, file_.owner);
  Tensor tensor = allocate(type, shape);
  std::memcpy(tensor.data(), data, needed);
  return tensor;
}

Tensor TensorReader::make(const TensorRecord& record) {
  const DType type = dtype_of_tensorflow(record.data_type);
  check(!is_complex(type), ErrorCode::unsupported, "a constant of complex numbers is not supported");
  const Shape shape = checked_shape(record, limits_);
  if (!record.content.empty()) return from_content(record, type, shape);
  const std::size_t given = record.reals.size() + record.integers.size() + record.strings.size();
  check(given <= static_cast<std::uint64_t>(shape.elements()), ErrorCode::bad_data,
        "{}{}: {} values are given for it", to_string(type), shape.to_string(), given);
  Tensor tensor = allocate(type, shape);
  if (type == DType::string)
    fill_strings(record.strings, tensor);
  else if (type == DType::f32)
    fill_reals<float>(record.reals, tensor);
  else if (type == DType::f64)
    fill_reals<double>(record.reals, tensor);
  else
    fill_integers(record.integers, tensor);
  return tensor;
}

} // namespace lanner::tensorflow
