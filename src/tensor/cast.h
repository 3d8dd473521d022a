#pragma once
// Casts between layouts and element types, by the rules of ONNX's Cast.

#include <cstddef>
#include <cstdint>

#include <lanner/tensor.h>

#include "tensor/minifloat.h"

namespace lanner {

/// Like the public copy, with rules for values out of range. Also casts between numbers and strings; throws
/// Error{unsupported} between complex and other types and Error{bad_data} for a string that is not a number.
///
/// Floats to integers truncate; out of range, 32 and 64 bits saturate and narrower ones keep the low bits
/// (ONNX leaves this open). Integers to integers keep the low bits.
void copy_tensor(const Tensor& from, Tensor& to, CastRules rules);

/// Casts `count` packed numbers from `from` to `to`, which do not overlap. Neither type is string or complex.
void cast_elements(DType from_type, const void* from, DType to_type, void* to, std::size_t count,
                   CastRules rules = {});

} // namespace lanner
