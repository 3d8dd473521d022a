#pragma once
// All formulas, for code that makes tables of them: add new lists here.

#include "ops/formulas/activations.h"
#include "ops/formulas/arithmetic.h"
#include "ops/formulas/functions.h"
#include "ops/formulas/steps.h"

namespace lanner::formulas {

inline constexpr auto all = arithmetic_list + comparison_list + logic_list + extreme_list + function_list +
                            activation_list + step_list + quantization_list +
                            list(equal, is_nan, logical_not, gelu_by_tanh);

} // namespace lanner::formulas
