#include "graph/attribute.h"

#include "base/check.h"

namespace lanner {

Attribute::Attribute() = default;
Attribute::Attribute(const Attribute& other) = default;
Attribute::Attribute(Attribute&& other) noexcept = default;
Attribute& Attribute::operator=(const Attribute& other) = default;
Attribute& Attribute::operator=(Attribute&& other) noexcept = default;
Attribute::~Attribute() = default;

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

AttributeMap::AttributeMap() = default;
AttributeMap::AttributeMap(const AttributeMap& other) = default;
AttributeMap::AttributeMap(AttributeMap&& other) noexcept = default;
AttributeMap& AttributeMap::operator=(const AttributeMap& other) = default;
AttributeMap& AttributeMap::operator=(AttributeMap&& other) noexcept = default;
AttributeMap::~AttributeMap() = default;

void AttributeMap::set(std::string name, Attribute value) {
  values_.insert_or_assign(std::move(name), std::move(value));
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
