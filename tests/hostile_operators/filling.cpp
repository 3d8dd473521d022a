#include "hostile_operators/filling.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "graph/storage/quantization.h"
#include "program/weights/packing.h"

namespace lanner::hostile {
namespace {

constexpr std::int64_t most_elements = 1 << 20;

std::optional<Shape> shape_of(const Operand& operand) {
  if (operand.given) return Shape(*operand.given);
  std::vector<std::int64_t> sizes;
  std::int64_t elements = 1;
  for (const std::string& dim : operand.dims) {
    const std::int64_t size = dim.empty() || dim[0] < '0' || dim[0] > '9' ? 1 : std::stoll(dim);
    if (size > most_elements || elements * size > most_elements) return std::nullopt;
    elements *= size;
    sizes.push_back(size);
  }
  return Shape(std::move(sizes));
}

/// Element `i` of one kind of values: zeros, ones, the extremes of the type, negative numbers, usual ones.
template<typename T, std::size_t N>
T element_at(std::size_t kind, std::size_t i, const std::array<T, N>& ends, T usual) {
  switch (kind) {
  case 1:
    return 0;
  case 2:
    return 1;
  case 3:
    return ends[i % N];
  case 4:
    return -1 - static_cast<T>(i % 5);
  default:
    return usual;
  }
}

double real_at(std::size_t kind, std::size_t i) {
  constexpr std::array ends{std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity(),
                            0.0,
                            -std::numeric_limits<double>::infinity(),
                            3e38,
                            -3e38,
                            1e-40,
                            -0.0,
                            3e9};
  return element_at(kind, i, ends, 0.25 + static_cast<double>((i * 7 + 3) % 11) / 4);
}

std::int64_t integer_at(std::size_t kind, std::size_t i) {
  constexpr std::array<std::int64_t, 8> ends{INT64_MIN,        INT64_MAX, INT64_C(1) << 31, INT32_MAX,
                                             INT64_C(1) << 40, -1,        INT32_MIN,        INT64_C(1) << 62};
  return element_at(kind, i, ends, static_cast<std::int64_t>(i % 2));
}

void fill_strings(Tensor& tensor, std::size_t kind) {
  std::size_t i = 0;
  for (std::string& text : tensor.as<std::string>()) {
    const std::array<std::string, filling_kinds> values{"a b c", "", "A", std::string("\xff\xfe\0\xc3", 4),
                                                        std::string(2000, 'a')};
    text = values[(kind + i++ % 2) % filling_kinds];
  }
}

Tensor filled_tensor(DType type, const Shape& shape, std::size_t kind) {
  Tensor tensor = Tensor::allocate(type, shape);
  if (type == DType::string) {
    fill_strings(tensor, kind);
    return tensor;
  }
  if (is_complex(type)) {
    std::memset(tensor.data(), 0, tensor.bytes());
    return tensor;
  }
  std::size_t i = 0;
  if (type == DType::i64) {
    for (std::int64_t& value : tensor.as<std::int64_t>()) value = integer_at(kind, i++);
    return tensor;
  }
  if (is_integer(type) || type == DType::boolean) {
    Tensor drawn = Tensor::allocate(DType::i32, shape);
    for (std::int32_t& value : drawn.as<std::int32_t>()) {
      const std::int64_t wide = integer_at(kind, i++);
      value = type == DType::boolean ? static_cast<std::int32_t>(wide & 1) : static_cast<std::int32_t>(wide);
    }
    return pack(drawn, of_type(type));
  }
  if (type == DType::f64) {
    for (double& value : tensor.as<double>()) value = real_at(kind, i++);
    return tensor;
  }
  Tensor drawn = Tensor::allocate(DType::f32, shape);
  for (float& value : drawn.as<float>()) value = static_cast<float>(real_at(kind, i++));
  return pack(drawn, of_type(type));
}

} // namespace

std::optional<Item> filled(const Operand& operand, std::size_t kind) {
  const auto shape = shape_of(operand);
  if (!shape) return std::nullopt;
  const DType type = parse_dtype(operand.dtype);
  if (operand.wrapper == "opt" && kind == 1) {
    Item item;
    item.absent = true;
    return item;
  }
  if (operand.wrapper != "seq") return Item(filled_tensor(type, *shape, kind));
  Item item;
  const std::size_t length = kind == 1 ? 0 : 2;
  item.items = std::make_shared<const std::vector<Item>>(length, Item(filled_tensor(type, *shape, kind)));
  return item;
}

} // namespace lanner::hostile
