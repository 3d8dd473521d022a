#pragma once
// Values for inputs: usual ones and those that nobody expects.

#include <cstddef>
#include <optional>

#include <lanner/item.h>

#include "hostile_operators/seed.h"

namespace lanner::hostile {

/// Small numbers, zeros, ones, the ends of each type, numbers below zero.
inline constexpr std::size_t filling_kinds = 5;

/// An item of the operand's type. Nothing where it is too large to be made.
std::optional<Item> filled(const Operand& operand, std::size_t kind);

} // namespace lanner::hostile
