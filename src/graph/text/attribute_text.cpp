#include "graph/text/attribute_text.h"

#include "graph/text/tensor_text.h"

namespace lanner {

static void charge(Lexer& lexer, std::size_t offset, TensorSource& tensors, std::uint64_t bytes) {
  if (bytes > tensors.bytes_left)
    lexer.fail_limit(offset, "total_bytes", lexer.limits().total_bytes, "more bytes of constants");
  tensors.bytes_left -= bytes;
}

static Tensor parse_file(Lexer& lexer, TensorSource& tensors, std::size_t offset) {
  lexer.expect("(");
  const std::string file = lexer.expect(TokenKind::string, "a file name").text;
  lexer.expect(",");
  const std::string name = lexer.expect(TokenKind::string, "a tensor name").text;
  lexer.expect(")");
  if (!tensors.find)
    lexer.fail_at(offset, fmt::format("no tensor store was given to look up {}", in_quotes(name)));
  return tensors.find(file, name);
}

static void expect_key(Lexer& lexer, std::string_view key) {
  lexer.expect(",");
  if (!lexer.take_name(key)) lexer.fail_expected(fmt::format("`{} =`", key));
  lexer.expect("=");
}

static Tensor parse_random(Lexer& lexer, TensorSource& tensors, std::size_t offset) {
  lexer.expect("(");
  const Type type = parse_type(lexer);
  expect_key(lexer, "seed");
  const std::uint64_t seed = lexer.unsigned_integer("a seed");
  expect_key(lexer, "std");
  const double deviation = lexer.real("a standard deviation");
  lexer.expect(")");
  if (!type.is_static() || type.dtype() == DType::string)
    lexer.fail_at(offset, "random needs a numeric type and constant dims");
  const std::uint64_t bytes = Layout{}.bytes(type.shape(), DType::f32);
  if (bytes > lexer.limits().tensor_bytes)
    lexer.fail_limit(offset, "tensor_bytes", lexer.limits().tensor_bytes, fmt::format("{} bytes", bytes));
  charge(lexer, offset, tensors, bytes);
  return random_tensor(type.dtype(), type.shape(), seed, deviation, lexer.limits());
}

static Attribute parse_list(Lexer& lexer) {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;
  bool real = false;
  lexer.expect("[");
  do {
    if (lexer.peek().kind == TokenKind::string) {
      strings.push_back(lexer.next().text);
      continue;
    }
    const bool negative = lexer.take("-");
    if (!real && lexer.peek().kind == TokenKind::integer) {
      integers.push_back(lexer.integer("an integer", negative));
    } else {
      if (!real) reals.assign(integers.begin(), integers.end());
      real = true;
      const double value = lexer.real("a number or a string");
      reals.push_back(negative ? -value : value);
    }
  } while (lexer.take(","));
  if (!strings.empty() && (real || !integers.empty())) lexer.fail_expected("one kind of element in a list");
  lexer.expect("]");
  if (!strings.empty()) return strings;
  if (real) return reals;
  return integers;
}

static Attribute parse_number(Lexer& lexer) {
  const bool negative = lexer.take("-");
  if (lexer.peek().kind == TokenKind::integer) return lexer.integer("an integer", negative);
  const double value = lexer.real("a value");
  return negative ? -value : value;
}

static Attribute parse_empty(Lexer& lexer, Attribute value) {
  lexer.expect("[");
  lexer.expect("]");
  return value;
}

// A dtype alone is an element type; with dims and values it is a tensor.
static Attribute parse_dtype_or_tensor(Lexer& lexer, DType dtype, TensorSource& tensors, std::size_t offset) {
  if (!lexer.at("[")) return dtype;
  const Type type = parse_dims_of(lexer, dtype);
  Tensor tensor = parse_tensor_values(lexer, type);
  charge(lexer, offset, tensors, tensor.bytes());
  return tensor;
}

Attribute parse_attribute(Lexer& lexer, TensorSource& tensors) {
  if (lexer.peek().kind == TokenKind::string) return lexer.next().text;
  if (lexer.at("[")) return parse_list(lexer);
  if (lexer.peek().kind != TokenKind::name || lexer.at_name("inf") || lexer.at_name("nan"))
    return parse_number(lexer);
  const Token name = lexer.next();
  if (name.text == "ints") return parse_empty(lexer, std::vector<std::int64_t>{});
  if (name.text == "floats") return parse_empty(lexer, std::vector<double>{});
  if (name.text == "strings") return parse_empty(lexer, std::vector<std::string>{});
  if (name.text == "file") return parse_file(lexer, tensors, name.offset);
  if (name.text == "random") return parse_random(lexer, tensors, name.offset);
  if (name.text == "hash")
    lexer.fail_at(name.offset,
                  "a constant given by its hash cannot be read back; print the graph with a tensor store");
  if (name.text == "type") {
    lexer.expect("(");
    Type type = parse_type(lexer);
    lexer.expect(")");
    return type;
  }
  const std::optional<DType> dtype = dtype_named(name.text);
  if (!dtype)
    lexer.fail_at(name.offset, fmt::format("`{}` is not an attribute value", name.text.substr(0, 40)));
  return parse_dtype_or_tensor(lexer, *dtype, tensors, name.offset);
}

} // namespace lanner
