#pragma once
// Numbers in text, as ONNX's Cast reads and writes them.

#include <cstdint>
#include <string>

#include <lanner/dtype.h>

#include "tensor/minifloat.h"

namespace lanner {

/// The element at `offset` of `base` as plain or scientific text that reads back exactly (`1.0`, `1e-07`,
/// `nan`).
std::string print_element(DType type, const void* base, std::int64_t offset);
/// Reads `text` (`3.14`, `1e-5`, `+INF`, `NaN`) into the element at `offset`. Throws Error{bad_data}.
void parse_element(const std::string& text, DType type, void* base, std::int64_t offset, CastRules rules);

} // namespace lanner
