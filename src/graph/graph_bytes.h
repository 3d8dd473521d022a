#pragma once
// What the parts of a graph take in memory, for the account. Elements of constants are counted by their own.

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace lanner {

/// A block's share of the allocator, which rounds up to 16 bytes and heads each with 8.
inline constexpr std::uint64_t allocation_bytes = 16;
/// An element of a std::map around what it holds.
inline constexpr std::uint64_t map_bytes = 32 + allocation_bytes;
/// One use of a value: the pointer, the place, the entry of the value's list; lists grow by doubling.
inline constexpr std::uint64_t use_bytes = (sizeof(Value*) + sizeof(std::uint32_t) + sizeof(Use)) * 3 / 2;
inline constexpr std::uint64_t region_bytes = sizeof(Region) + sizeof(void*) + 2 * allocation_bytes;

std::uint64_t text_bytes(std::string_view text); ///< Of a std::string.
std::uint64_t type_bytes(const Type& type);      ///< What it has outside of itself.
std::uint64_t attribute_bytes(const AttributeMap& attributes);
std::uint64_t value_bytes(const Value& value);
std::uint64_t node_bytes(const Node& node); ///< Its outputs and its regions' nodes not.
std::uint64_t output_name_bytes(std::string_view name);

} // namespace lanner
