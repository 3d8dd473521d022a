#pragma once
// quantize_linear and dequantize_linear as operations of elementwise programs: of f32 reals, with integers of
// 8 or 16 bits, and of 32 bits to dequantize.

#include <optional>
#include <string>

#include "backends/group.h"

namespace lanner {

bool is_quantize(const GroupOp& op);
bool is_dequantize(const GroupOp& op);

/// Why a program cannot have the operation, which is one of the two; empty where it can.
std::string quantization_obstacle(const GroupOp& op);

/// The shape in which the scale (`i` = 1) or zero point (2) broadcasts to the result.
Shape parameter_shape(const GroupOp& op, std::size_t i);

/// The zero point where it is one known number, 0 where there is none.
std::optional<float> zero_number(const GroupOp& op);
/// The scale where it is one known number.
std::optional<float> scale_number(const GroupOp& op);

struct StoredBounds {
  float least, most;
};
StoredBounds stored_bounds(DType type);

} // namespace lanner
