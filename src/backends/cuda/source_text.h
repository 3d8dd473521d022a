#pragma once
// What sources that NVRTC compiles are made of.

#include <span>
#include <string>
#include <string_view>

#include <lanner/dtype.h>

#include "ops/elementwise/formula.h"

namespace lanner::cuda {

/// Types, and functions that sources may call: loads and stores of elements, and packs of them; formulas.
std::string_view prelude();

/// Of an element in device code.
std::string_view type_name(DType type);

/// A float that reads back exactly.
std::string number(float value);

/// The formula as an expression of `operands`, which are expressions of floats.
std::string formula_text(const Formula& formula, const Numbers& numbers,
                         std::span<const std::string> operands);

} // namespace lanner::cuda
