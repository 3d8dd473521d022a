#pragma once
// Small tensors as text: `i64[2](1, -1)`, `f32[](0.5)`, `string[1]("a")`, `f16[1](hex 003c)`.

#include <string>

#include <lanner/tensor.h>

#include "graph/text/lexer.h"

namespace lanner {

std::string tensor_text(const Tensor& tensor);

/// The values after a tensor's type, parentheses included. Memory is taken only for values that the text
/// holds.
Tensor parse_tensor_values(Lexer& lexer, const Type& type);

/// The elements of `random(type, seed, std)`: the same on every machine, mean 0, near to normal.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double deviation,
                     const Limits& limits);

} // namespace lanner
