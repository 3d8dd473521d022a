#include <lanner/precision.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/joined.h"

namespace lanner {

DType parse_precision_type(std::string_view name) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8})
    if (name == precision_name(type)) return type;
  fail(ErrorCode::invalid_argument, "precision '{}': expected fp32, fp16, bf16 or int8", name);
}

std::string_view precision_name(DType type) {
  switch (type) {
  case DType::f32:
    return "fp32";
  case DType::f16:
    return "fp16";
  case DType::bf16:
    return "bf16";
  case DType::i8:
    return "int8";
  default:
    return to_string(type);
  }
}

Precision Precision::parse(std::string_view text) {
  Precision precision;
  precision.types.clear();
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(',', begin);
    precision.types.insert(parse_precision_type(text.substr(begin, end - begin)));
  }
  return precision;
}

bool Precision::allows(DType type) const {
  return types.contains(type) ||
         std::ranges::any_of(pins, [&](const PrecisionPin& pin) { return pin.type == type; });
}

std::string Precision::types_text() const {
  std::vector<std::string_view> names;
  for (const DType type : types) names.push_back(precision_name(type));
  return joined(names, ",");
}

} // namespace lanner
