#pragma once
// Small tensors as text: `i64[2](1, -1)`, `f32[](0.5)`, `string[1]("a")`, `f16[1](hex 003c)`.

#include <string>

#include <lanner/tensor.h>

#include "graph/text/lexer.h"

namespace lanner {

std::string tensor_text(const Tensor& tensor);

/// Parses the values after a tensor's type, including parentheses. Memory is allocated only for values that
/// the text contains.
Tensor parse_tensor_values(Lexer& lexer, const Type& type);

/// The elements of `random(type, seed, std)`: the same on every machine, mean 0, approximately normal.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double deviation,
                     const Limits& limits);

} // namespace lanner
