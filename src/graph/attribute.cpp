#include "graph/attribute.h"

#include "base/check.h"

namespace lanner {

std::string_view to_string(AttributeKind kind) noexcept {
  switch (kind) {
  case AttributeKind::integer:
    return "integer";
  case AttributeKind::real:
    return "real";
  case AttributeKind::string:
    return "string";
  case AttributeKind::integers:
    return "list of integers";
  case AttributeKind::reals:
    return "list of reals";
  case AttributeKind::strings:
    return "list of strings";
  case AttributeKind::dtype:
    return "element type";
  case AttributeKind::type:
    return "type";
  case AttributeKind::tensor:
    return "tensor";
  }
  return "unknown";
}

void AttributeMap::erase(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

const Attribute* AttributeMap::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

const Attribute& AttributeMap::require(std::string_view name) const {
  const Attribute* found = find(name);
  check(found != nullptr, ErrorCode::invalid_argument, "attribute {} is missing", name);
  return *found;
}

void AttributeMap::wrong_kind(std::string_view name, AttributeKind expected, AttributeKind found) {
  fail(ErrorCode::invalid_argument, "attribute {}: expected {}, got {}", name, to_string(expected),
       to_string(found));
}

} // namespace lanner
