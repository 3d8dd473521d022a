#pragma once
// Building blocks of sources that NVRTC compiles.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <lanner/dtype.h>

#include "backends/byte_scale.h"
#include "ops/elementwise/formula.h"

namespace lanner::cuda {

/// Types and functions that sources may use: loads and stores of elements and packs of them; formulas.
std::string_view prelude();

/// Name of an element type in device code.
std::string_view type_name(DType type);

/// A float literal that reads back exactly.
std::string number(float value);

/// The formula as an expression of `operands`, which are expressions of floats.
std::string formula_text(const Formula& formula, const Numbers& numbers,
                         std::span<const std::string> operands);

/// `result_t` and `result_t stored(float)`: elements of type `type` or, with `rounding`, bytes.
std::string stored_text(DType type, const std::optional<ByteRounding>& rounding);

/// Expressions with functions that are as precise as results of type `result` need: erf() within 5e-7 where
/// they are rounded to f16 or bf16, which takes half the instructions.
std::string for_results(std::string expressions, DType result);

} // namespace lanner::cuda
