#include "graph/type/type.h"

#include <lanner/error.h>

#include "base/check.h"
#include "graph/text/lexer.h"

namespace lanner {

Type::Type(DType dtype, const Shape& shape) : dtype_(dtype), dims_(Dims(shape.begin(), shape.end())) {}

Type Type::unranked(DType dtype) {
  Type type;
  type.dtype_ = dtype;
  return type;
}

Type Type::sequence(Type element) {
  Type type;
  type.kind_ = Kind::sequence;
  type.element_ = std::make_shared<const Type>(std::move(element));
  return type;
}

Type Type::optional(Type element) {
  Type type = sequence(std::move(element));
  type.kind_ = Kind::optional;
  return type;
}

DType Type::dtype() const {
  check(is_tensor(), ErrorCode::invalid_argument, "type: {} has no element type",
        is_tensor() ? "" : to_string());
  return dtype_;
}

const Dims& Type::dims() const {
  check(ranked(), ErrorCode::invalid_argument, "type: {} has no dims", ranked() ? "" : to_string());
  return *dims_;
}

const Type& Type::element() const {
  check(element_ != nullptr, ErrorCode::invalid_argument, "type: {} has no element",
        element_ ? "" : to_string());
  return *element_;
}

bool Type::is_static() const {
  if (!ranked()) return false;
  for (const Dim& dim : *dims_) {
    if (!dim.is_constant()) return false;
  }
  return true;
}

Shape Type::shape() const {
  check(is_static(), ErrorCode::internal, "type: {} is not static", is_static() ? "" : to_string());
  Shape shape;
  for (const Dim& dim : *dims_) shape.push_back(dim.value());
  return shape;
}

Type Type::with_dtype(DType dtype) const {
  check(is_tensor(), ErrorCode::invalid_argument, "type: {} has no element type",
        is_tensor() ? "" : to_string());
  Type type = *this;
  type.dtype_ = dtype;
  return type;
}

Type Type::substitute(const Bindings& values) const {
  Type type = *this;
  if (element_) type.element_ = std::make_shared<const Type>(element_->substitute(values));
  if (dims_) {
    for (Dim& dim : *type.dims_) dim = dim.substitute(values);
  }
  return type;
}

std::string Type::to_string() const {
  switch (kind_) {
  case Kind::sequence:
    return "seq(" + element_->to_string() + ")";
  case Kind::optional:
    return "opt(" + element_->to_string() + ")";
  case Kind::tensor:
    break;
  }
  std::string text(lanner::to_string(dtype_));
  return text + (dims_ ? lanner::to_string(*dims_) : "[*]");
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.kind_ != Type::Kind::tensor) return *a.element_ == *b.element_;
  return a.dtype_ == b.dtype_ && a.dims_ == b.dims_;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (to_string(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

static Dims parse_dims(Lexer& lexer) {
  Dims dims;
  if (lexer.at("]")) return dims;
  do {
    if (dims.size() >= lexer.limits().rank)
      lexer.fail_limit(lexer.peek().offset, "rank", lexer.limits().rank, "more dims");
    const std::size_t offset = lexer.peek().offset;
    dims.push_back(parse_dim(lexer));
    if (dims.back().is_constant() && dims.back().value() < 0)
      lexer.fail_at(offset, fmt::format("expected a size of at least 0, found {}", dims.back().value()));
  } while (lexer.take(","));
  return dims;
}

Type parse_type(Lexer& lexer) {
  const Lexer::Depth depth(lexer);
  const std::size_t offset = lexer.peek().offset;
  const std::string name = lexer.expect(TokenKind::name, "a type").text;
  if (name == "seq" || name == "opt") {
    lexer.expect("(");
    Type element = parse_type(lexer);
    lexer.expect(")");
    return name == "seq" ? Type::sequence(std::move(element)) : Type::optional(std::move(element));
  }
  const std::optional<DType> dtype = dtype_named(name);
  if (!dtype) lexer.fail_at(offset, fmt::format("`{}` is not an element type", name.substr(0, 40)));
  return parse_dims_of(lexer, *dtype);
}

Type parse_dims_of(Lexer& lexer, DType dtype) {
  lexer.expect("[");
  const bool unranked = lexer.take("*");
  Dims dims = unranked ? Dims{} : parse_dims(lexer);
  lexer.expect("]");
  return unranked ? Type::unranked(dtype) : Type(dtype, std::move(dims));
}

Type Type::parse(std::string_view text) {
  Lexer lexer(text, {}, true);
  Type type = parse_type(lexer);
  lexer.expect_end();
  return type;
}

} // namespace lanner
