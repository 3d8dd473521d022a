#include "graph/text/tensor_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/limits/paced_deadline.h"

namespace lanner {

// Calls visit(T{}) for the element types that are written value by value; others are written as bytes.
template<typename Visit>
static bool visit_plain(DType type, const Visit& visit) {
  switch (type) {
  case DType::f32:
    return visit(float{}), true;
  case DType::f64:
    return visit(double{}), true;
  case DType::i8:
    return visit(std::int8_t{}), true;
  case DType::u8:
    return visit(std::uint8_t{}), true;
  case DType::i16:
    return visit(std::int16_t{}), true;
  case DType::u16:
    return visit(std::uint16_t{}), true;
  case DType::i32:
    return visit(std::int32_t{}), true;
  case DType::u32:
    return visit(std::uint32_t{}), true;
  case DType::i64:
    return visit(std::int64_t{}), true;
  case DType::u64:
    return visit(std::uint64_t{}), true;
  case DType::boolean:
    return visit(bool{}), true;
  case DType::string:
    return visit(std::string{}), true;
  default:
    return false;
  }
}

template<typename T>
static std::string element_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return in_quotes(value);
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", +value);
  } else {
    if (!std::isfinite(value)) return real_text(static_cast<double>(value));
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
}

// `nan` reads back as one bit pattern; any other NaN is written as bytes.
template<typename T>
static bool reads_back(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    return !std::isnan(value) || std::memcmp(&value, &nan, sizeof(T)) == 0;
  }
  return true;
}

template<typename T>
static bool write_values(const Tensor& tensor, std::string& text) {
  for (const T& value : tensor.as<T>()) {
    if (!reads_back(value)) return false;
    if (!text.empty()) text += ", ";
    text += element_text(value);
  }
  return true;
}

static std::string hex_text(const Tensor& tensor) {
  std::string text = "hex ";
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  for (std::uint64_t i = 0; i < tensor.bytes(); ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string tensor_text(const Tensor& given) {
  const Tensor tensor = given.layout().row_major() && given.device().is_host() ? given : given.clone();
  std::string values;
  bool written = false;
  visit_plain(tensor.dtype(),
              [&](auto example) { written = write_values<decltype(example)>(tensor, values); });
  if (!written) values = hex_text(tensor);
  return fmt::format("{}({})", Type(tensor.dtype(), tensor.shape()).to_string(), values);
}

template<typename T>
static T parse_element(Lexer& lexer) {
  if constexpr (std::is_same_v<T, bool>) {
    if (lexer.take_name("true")) return true;
    if (lexer.take_name("false")) return false;
    lexer.fail_expected("true or false");
  } else if constexpr (std::is_same_v<T, std::string>) {
    return lexer.expect(TokenKind::string, "a string").text;
  } else if constexpr (std::is_same_v<T, float>) {
    return lexer.real32("a number");
  } else if constexpr (std::is_floating_point_v<T>) {
    return lexer.real("a number");
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return lexer.unsigned_integer("an element");
  } else {
    const std::size_t offset = lexer.peek().offset;
    const std::int64_t value = lexer.integer("an element");
    if (!std::in_range<T>(value))
      lexer.fail_at(offset, fmt::format("{} does not fit the element type", value));
    return static_cast<T>(value);
  }
}

template<typename T>
static Tensor parse_values(Lexer& lexer, const Shape& shape, std::size_t offset) {
  std::vector<T> values;
  if (!lexer.at(")")) {
    PacedDeadline look;
    do {
      look();
      values.push_back(parse_element<T>(lexer));
    } while (lexer.take(","));
  }
  if (static_cast<std::int64_t>(values.size()) != shape.elements())
    lexer.fail_at(offset,
                  fmt::format("{} values for a tensor of shape {}", values.size(), shape.to_string()));
  Tensor tensor = Tensor::allocate(dtype_of<T>(), shape);
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  return tensor;
}

static Tensor parse_bytes(Lexer& lexer, DType dtype, const Shape& shape, std::size_t offset) {
  const std::string bytes = lexer.hex();
  const std::uint64_t expected = Layout{}.bytes(shape, dtype);
  if (bytes.size() != expected)
    lexer.fail_at(offset, fmt::format("{} bytes for a tensor that takes {}", bytes.size(), expected));
  Tensor tensor = Tensor::allocate(dtype, shape);
  if (expected > 0) std::memcpy(tensor.data(), bytes.data(), expected);
  return tensor;
}

Tensor parse_tensor_values(Lexer& lexer, const Type& type) {
  const std::size_t offset = lexer.peek().offset;
  if (!type.is_static()) lexer.fail_at(offset, "the type of a tensor must have constant dims");
  const Shape shape = type.shape();
  lexer.expect("(");
  Tensor tensor;
  if (type.dtype() != DType::string && lexer.take_name("hex")) {
    tensor = parse_bytes(lexer, type.dtype(), shape, offset);
  } else {
    const bool plain = visit_plain(
        type.dtype(), [&](auto example) { tensor = parse_values<decltype(example)>(lexer, shape, offset); });
    if (!plain) lexer.fail_expected("`hex` and the tensor's bytes");
  }
  lexer.expect(")");
  return tensor;
}

namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
struct Splitmix {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

} // namespace

Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double deviation,
                     const Limits& limits) {
  Tensor wide = Tensor::allocate(DType::f32, shape, {}, {}, limits);
  Splitmix source{seed};
  PacedDeadline look;
  for (float& value : wide.as<float>()) {
    look();
    // The sum of twelve uniforms has variance 1 and, unlike log and cos, the same bits on every machine.
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += source.uniform();
    value = static_cast<float>(sum * deviation);
  }
  if (dtype == DType::f32) return wide;
  Tensor narrow = Tensor::allocate(dtype, shape, {}, {}, limits);
  copy_tensor(wide, narrow);
  return narrow;
}

} // namespace lanner
