#pragma once
// Parses attribute values.

#include "graph/attribute.h"
#include "graph/text/lexer.h"
#include "graph/text/text.h"

namespace lanner {

/// Source of tensors that the text refers to by name, and the limit on all of them together.
struct TensorSource {
  const ConstantFinder& find;
  std::uint64_t bytes_left;
};

Attribute parse_attribute(Lexer& lexer, TensorSource& tensors);

} // namespace lanner
