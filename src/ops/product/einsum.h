#pragma once
// Equations of einsum.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lanner::ops {

/// A label of an axis: a letter, or a number from `first_hidden_label` on for an axis under the ellipsis,
/// counted from its last axis.
using EinsumLabel = std::size_t;
inline constexpr EinsumLabel first_hidden_label = 128;

struct EinsumTerms {
  std::vector<std::vector<EinsumLabel>> operands; ///< A label for each axis.
  std::vector<EinsumLabel> output;                ///< Each once.
};

/// Reads ONNX's equation for inputs of these ranks. Throws Error{invalid_argument}.
EinsumTerms parse_equation(const std::string& equation, std::span<const std::size_t> ranks);

} // namespace lanner::ops
