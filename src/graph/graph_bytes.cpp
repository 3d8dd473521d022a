#include "graph/graph_bytes.h"

#include "graph/type/dim_terms.h"

namespace lanner {
namespace {

/// Bytes of one term of an expression, with its list and one atom. Equal expressions may share them.
constexpr std::uint64_t term_bytes = sizeof(Term) + sizeof(AtomPtr) + 2 * allocation_bytes;

template<typename Element>
std::uint64_t list_bytes(const std::vector<Element>& list) {
  return list.size() * sizeof(Element) + allocation_bytes;
}

std::uint64_t outside(const Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute)) return text_bytes(*text) - sizeof(*text);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) return list_bytes(*list);
  if (const auto* list = std::get_if<std::vector<double>>(&attribute)) return list_bytes(*list);
  if (const auto* type = std::get_if<Type>(&attribute)) return type_bytes(*type);
  std::uint64_t bytes = 0;
  if (const auto* list = std::get_if<std::vector<std::string>>(&attribute))
    for (const std::string& each : *list) bytes += text_bytes(each);
  return bytes;
}

} // namespace

std::uint64_t text_bytes(std::string_view text) {
  constexpr std::size_t within = 15; // characters that are stored in the string object itself
  return sizeof(std::string) + (text.size() > within ? text.size() + 1 + allocation_bytes : 0);
}

std::uint64_t type_bytes(const Type& type) {
  if (!type.is_tensor()) return sizeof(Type) + 2 * allocation_bytes + type_bytes(type.element());
  if (!type.ranked()) return 0;
  std::uint64_t bytes = type.rank() * sizeof(Dim) + allocation_bytes;
  for (const Dim& dim : type.dims())
    if (const Dim::Terms* terms = DimAccess::normal(dim)) bytes += terms->size * term_bytes;
  return bytes;
}

std::uint64_t attribute_bytes(const AttributeMap& attributes) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : attributes)
    bytes += map_bytes + text_bytes(name) + sizeof(Attribute) + outside(value);
  return bytes;
}

std::uint64_t value_bytes(const Value& value) {
  return sizeof(Value) + 2 * sizeof(void*) + map_bytes + allocation_bytes + 2 * text_bytes(value.name()) +
         type_bytes(value.type);
}

std::uint64_t node_bytes(const Node& node) {
  constexpr std::uint64_t around = 3 * sizeof(void*) + 4 * allocation_bytes; // of the region's list
  std::uint64_t bytes = sizeof(Node) + around + node.inputs().size() * use_bytes + node.tactic.config.size();
  for (const std::string& source : node.sources) bytes += text_bytes(source);
  for (const auto& region : node.regions()) bytes += region_bytes + region->outputs().size() * use_bytes;
  return bytes + attribute_bytes(node.attributes);
}

std::uint64_t output_name_bytes(std::string_view name) {
  constexpr std::uint64_t listed = 1024; // per output, in an engine, its callers and a plan
  return 2 * text_bytes(name) + 2 * sizeof(void*) + 2 * allocation_bytes + listed;
}

} // namespace lanner
