#pragma once
// Values of attributes read from text.

#include "graph/attribute.h"
#include "graph/text/lexer.h"
#include "graph/text/text.h"

namespace lanner {

/// Where tensors that text only names come from, and what all of them together may take.
struct TensorSource {
  const ConstantFinder& find;
  std::uint64_t bytes_left;
};

Attribute parse_attribute(Lexer& lexer, TensorSource& tensors);

} // namespace lanner
