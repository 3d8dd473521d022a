// Values known before running.

#include "graph/known.h"

namespace lanner {

template<typename T>
static Dims read_elements(const Tensor& tensor) {
  Dims elements;
  for (T value : tensor.as<T>()) {
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return {};
    }
    elements.emplace_back(static_cast<std::int64_t>(value));
  }
  return elements;
}

static Dims elements_of(const Tensor& tensor) {
  switch (tensor.dtype()) {
  case DType::i64:
    return read_elements<std::int64_t>(tensor);
  case DType::i32:
    return read_elements<std::int32_t>(tensor);
  case DType::i16:
    return read_elements<std::int16_t>(tensor);
  case DType::i8:
    return read_elements<std::int8_t>(tensor);
  case DType::u64:
    return read_elements<std::uint64_t>(tensor);
  case DType::u32:
    return read_elements<std::uint32_t>(tensor);
  case DType::u16:
    return read_elements<std::uint16_t>(tensor);
  case DType::u8:
    return read_elements<std::uint8_t>(tensor);
  default:
    return {};
  }
}

Known known_tensor(Tensor tensor) {
  Known known;
  const bool readable = tensor.device().is_host() && tensor.layout().row_major();
  if (readable && is_integer(tensor.dtype()) && tensor.elements() <= max_known_elements) {
    Dims elements = elements_of(tensor);
    if (static_cast<std::int64_t>(elements.size()) == tensor.elements()) known.elements = std::move(elements);
  }
  known.tensor = std::move(tensor);
  return known;
}

static std::optional<Tensor> tensor_of(const Dims& elements, const Type& type) {
  std::vector<std::int64_t> values;
  for (const Dim& element : elements) {
    if (!element.is_constant()) return std::nullopt;
    values.push_back(element.value());
  }
  Tensor wide = Tensor::from<std::int64_t>(values, type.shape());
  if (type.dtype() == DType::i64) return wide;
  Tensor narrow = Tensor::allocate(type.dtype(), type.shape());
  copy_tensor(wide, narrow);
  return narrow;
}

Known completed(Known known, const Type& type) {
  if (known.tensor) return known_tensor(std::move(*known.tensor));
  const bool fits = type.is_tensor() && is_integer(type.dtype()) && type.is_static();
  if (!known.elements || !fits) return {};
  const std::int64_t count = type.shape().elements();
  if (count > max_known_elements || count != static_cast<std::int64_t>(known.elements->size())) return {};
  known.tensor = tensor_of(*known.elements, type);
  return known;
}

} // namespace lanner
