#pragma once
// Memory of a graph's parts, for the account. Elements of constants have their own charge.

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace lanner {

/// Overhead of an allocation: the allocator rounds up to 16 bytes and adds a header of 8.
inline constexpr std::uint64_t allocation_bytes = 16;
/// Overhead of an element of a std::map.
inline constexpr std::uint64_t map_bytes = 32 + allocation_bytes;
/// One use of a value: the pointer, the index, the entry in the value's list; lists grow by doubling.
inline constexpr std::uint64_t use_bytes = (sizeof(Value*) + sizeof(std::uint32_t) + sizeof(Use)) * 3 / 2;
inline constexpr std::uint64_t region_bytes = sizeof(Region) + sizeof(void*) + 2 * allocation_bytes;

std::uint64_t text_bytes(std::string_view text); ///< Of a std::string.
std::uint64_t type_bytes(const Type& type);      ///< Its heap memory.
std::uint64_t attribute_bytes(const AttributeMap& attributes);
std::uint64_t value_bytes(const Value& value);
std::uint64_t node_bytes(const Node& node); ///< Without its outputs and its regions' nodes.
std::uint64_t output_name_bytes(std::string_view name);

} // namespace lanner
