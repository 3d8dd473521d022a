#include "importers/onnx/onnx_tensor.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "tensor/strings.h"

namespace lanner::onnx {
namespace {

Shape checked_shape(const TensorRecord& record, const Limits& limits) {
  check_limit("rank", record.dims.size(), limits.rank, "rank {}", record.dims.size());
  std::uint64_t elements = 1;
  for (std::int64_t size : record.dims) {
    check(size >= 0, ErrorCode::bad_data, "dims {}: sizes must not be negative",
          Shape(record.dims).to_string());
    elements = limited_product("tensor_bytes", limits.tensor_bytes, elements,
                               std::max<std::uint64_t>(static_cast<std::uint64_t>(size), 1), "elements");
  }
  return Shape(record.dims);
}

std::uint64_t parse_number(const TensorRecord& record, const char* key) {
  const auto found = record.external.find(key);
  if (found == record.external.end()) return 0;
  std::uint64_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc{} && end == text.data() + text.size(), ErrorCode::bad_data,
        "external data: {} '{}' is not a number", key, text);
  return value;
}

/// What reads bools assumes that each byte is 0 or 1.
template<typename Elements>
void require_bools(const Elements& elements) {
  const bool good = std::ranges::all_of(elements, [](auto element) {
    const auto number = static_cast<std::int64_t>(element);
    return number == 0 || number == 1;
  });
  check(good, ErrorCode::bad_data, "a bool is neither 0 nor 1");
}

/// Elements of the typed fields, narrowed to the tensor's type.
template<typename From, typename To>
void store(const std::vector<From>& from, Tensor& tensor) {
  auto* to = static_cast<To*>(tensor.data());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
}

void store_integers(const TensorRecord& record, Tensor& tensor) {
  if (tensor.dtype() == DType::boolean) require_bools(record.integers);
  switch (bit_width(tensor.dtype())) {
  case 64:
    return store<std::int64_t, std::uint64_t>(record.integers, tensor);
  case 32:
    return store<std::int64_t, std::uint32_t>(record.integers, tensor);
  case 16:
    return store<std::int64_t, std::uint16_t>(record.integers, tensor);
  default:
    return store<std::int64_t, std::uint8_t>(record.integers, tensor);
  }
}

std::size_t typed_count(const TensorRecord& record, DType type) {
  if (type == DType::string) return record.strings.size();
  if (type == DType::f32 || type == DType::c64) return record.floats.size();
  if (type == DType::f64 || type == DType::c128) return record.doubles.size();
  return record.integers.size();
}

} // namespace

DType dtype_of_onnx(std::int64_t data_type) {
  static constexpr DType types[] = {
      DType::f32,        DType::f32,    DType::u8,         DType::i8,      DType::u16,  DType::i16,
      DType::i32,        DType::i64,    DType::string,     DType::boolean, DType::f16,  DType::f64,
      DType::u32,        DType::u64,    DType::c64,        DType::c128,    DType::bf16, DType::f8e4m3fn,
      DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::u4,      DType::i4,   DType::f4e2m1,
      DType::f8e8m0,     DType::u2,     DType::i2};
  check(data_type >= 1 && data_type < static_cast<std::int64_t>(std::size(types)), ErrorCode::unsupported,
        "element type {} is not one that ONNX defines", data_type);
  return types[data_type];
}

void TensorReader::charge(std::uint64_t bytes) {
  check_limit("tensor_bytes", bytes, limits_.tensor_bytes, "{} bytes", bytes);
  taken_ += bytes;
  check_limit("total_bytes", taken_, limits_.total_bytes, "the model's tensors take {} bytes", taken_);
}

/// A view where the elements are aligned, else a copy.
Tensor TensorReader::view_or_copy(std::span<const std::byte> bytes, DType type, const Shape& shape,
                                  std::shared_ptr<const void> owner) {
  if (type == DType::boolean) require_bools(bytes);
  const std::size_t alignment = std::max<std::size_t>(bit_width(type) / 8, 1);
  if (owner && reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0)
    return Tensor::wrap(const_cast<std::byte*>(bytes.data()), type, shape, std::move(owner));
  charge(bytes.size());
  Tensor tensor = Tensor::allocate(type, shape);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

const Content& TensorReader::file(const std::string& location) {
  const auto found = files_.find(location);
  if (found != files_.end()) return found->second;
  if (options_.on_data_file) options_.on_data_file(options_.folder / location);
  const SourcePtr source = open_beneath(options_.folder, location, limits_);
  return files_.emplace(location, read_all(source, limits_)).first->second;
}

Tensor TensorReader::external(const TensorRecord& record, DType type, const Shape& shape) {
  check(type != DType::string, ErrorCode::bad_data, "strings cannot be external data");
  check(!options_.folder.empty(), ErrorCode::bad_data,
        "its data is in an external file, but the model was given as bytes; give the path of the model");
  const auto location = record.external.find("location");
  check(location != record.external.end() && !location->second.empty(), ErrorCode::bad_data,
        "external data has no location");
  const std::uint64_t offset = parse_number(record, "offset"), length = parse_number(record, "length");
  const std::uint64_t needed = Layout{}.bytes(shape, type);
  check(length == 0 || length == needed, ErrorCode::bad_data,
        "external data: {} needs {} bytes, length says {}", shape.to_string(), needed, length);
  const Content& content = file(location->second);
  check(offset <= content.bytes.size() && needed <= content.bytes.size() - offset, ErrorCode::bad_data,
        "external data: expected {} bytes at offset {} of {}, the file has {} bytes", needed, offset,
        location->second, content.bytes.size());
  return view_or_copy(content.bytes.subspan(offset, needed), type, shape, content.owner);
}

Tensor TensorReader::from_fields(const TensorRecord& record, DType type, const Shape& shape) {
  const std::size_t bits = bit_width(type);
  const auto elements = static_cast<std::uint64_t>(shape.elements());
  const std::uint64_t expected = bits && bits < 8   ? (elements * bits + 7) / 8
                                 : is_complex(type) ? elements * 2
                                                    : elements;
  check(typed_count(record, type) == expected, ErrorCode::bad_data, "{}{} needs {} values, the file has {}",
        to_string(type), shape.to_string(), expected, typed_count(record, type));
  charge(type == DType::string ? elements * sizeof(std::string) : Layout{}.bytes(shape, type));
  Tensor tensor = Tensor::allocate(type, shape);
  if (type == DType::string)
    std::copy(record.strings.begin(), record.strings.end(), tensor.as<std::string>().begin());
  else if (type == DType::f32 || type == DType::c64)
    store<float, float>(record.floats, tensor);
  else if (type == DType::f64 || type == DType::c128)
    store<double, double>(record.doubles, tensor);
  else
    store_integers(record, tensor);
  own_characters(tensor);
  return tensor;
}

Tensor TensorReader::make_unnamed(const TensorRecord& record) {
  const DType type = dtype_of_onnx(record.data_type);
  const Shape shape = checked_shape(record, limits_);
  check(record.data_location == 0 || record.data_location == 1, ErrorCode::bad_data,
        "data_location is {}, expected 0 or 1", record.data_location);
  if (record.data_location == 1) return external(record, type, shape);
  if (!record.has_raw || type == DType::string) return from_fields(record, type, shape);
  const std::uint64_t bytes = Layout{}.bytes(shape, type);
  check(record.raw.size() == bytes, ErrorCode::bad_data, "{}{} needs {} bytes, raw_data has {}",
        to_string(type), shape.to_string(), bytes, record.raw.size());
  return view_or_copy(std::as_bytes(std::span(record.raw)), type, shape, owner_);
}

Tensor TensorReader::make(const TensorRecord& record) {
  return with_context([&] { return "tensor '" + record.name + "'"; }, [&] { return make_unnamed(record); });
}

Tensor TensorReader::densify(const Tensor& values, const Tensor& indices,
                             const std::vector<std::int64_t>& dims) {
  TensorRecord record;
  record.dims = dims;
  const Shape shape = checked_shape(record, limits_);
  check(indices.dtype() == DType::i64 && values.rank() == 1 && values.dtype() != DType::string &&
            bit_width(values.dtype()) >= 8,
        ErrorCode::unsupported, "sparse tensor: expected int64 indices and a list of values");
  charge(Layout{}.bytes(shape, values.dtype()));
  const bool linear = indices.rank() == 1;
  const auto count = values.elements(), rank = static_cast<std::int64_t>(shape.rank());
  check(indices.elements() == (linear ? count : count * rank), ErrorCode::bad_data,
        "sparse tensor: {} indices for {} values", indices.elements(), count);
  Tensor dense = Tensor::zeros(values.dtype(), shape);
  const std::size_t size = bit_width(values.dtype()) / 8;
  const auto at = indices.as<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = linear ? at[static_cast<std::size_t>(i)] : 0;
    for (std::int64_t d = 0; !linear && d < rank; ++d) {
      const std::int64_t index = at[static_cast<std::size_t>(i * rank + d)];
      check(index >= 0 && index < shape[static_cast<std::size_t>(d)], ErrorCode::bad_data,
            "sparse tensor: index {} of dim {} is outside {}", index, d, shape.to_string());
      place = place * shape[static_cast<std::size_t>(d)] + index;
    }
    check(place >= 0 && place < dense.elements(), ErrorCode::bad_data,
          "sparse tensor: index {} is outside {}", place, shape.to_string());
    std::memcpy(static_cast<std::byte*>(dense.data()) + static_cast<std::size_t>(place) * size,
                static_cast<const std::byte*>(values.data()) + static_cast<std::size_t>(i) * size, size);
  }
  return dense;
}

} // namespace lanner::onnx
