#pragma once
// Values for inputs: usual and unusual ones.

#include <cstddef>
#include <optional>

#include <lanner/item.h>

#include "hostile_operators/seed.h"

namespace lanner::hostile {

/// Small numbers, zeros, ones, the extremes of each type, negative numbers.
inline constexpr std::size_t filling_kinds = 5;

/// An item of the operand's type. Nothing where it is too large to allocate.
std::optional<Item> filled(const Operand& operand, std::size_t kind);

} // namespace lanner::hostile
