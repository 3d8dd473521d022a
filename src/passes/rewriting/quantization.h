#pragma once
// quantize_linear and dequantize_linear whose scale and zero point apply to all elements alike.

#include "graph/graph.h"

namespace lanner::passes {

/// Whether the node is one of the two, between f32 and integers of at most 16 bits, with one scale and at
/// most one zero point.
bool quantizes(const Node* node);
bool dequantizes(const Node* node);

/// Whether it is dequantised from a constant with constant scales and zero points, along an axis too.
bool is_dequantized_constant(const Value* value);

/// The stored type of such a node.
DType stored_type(const Node& node);

/// Whether both store a number alike: the same type, and scales and zero points that are the same values or
/// equal constants.
bool same_quantization(const Node& a, const Node& b);
/// Records that the graph depends on the scales and zero points being equal (note_decided()).
void note_same_quantization(const Node& a, const Node& b);

/// Whether the scale is a known positive number, so that larger numbers are stored as larger integers.
bool keeps_order(const Node& node);

/// Whether dividing by the scale and multiplying by it again gives each stored number back: it is a known
/// number that neither overflows nor underflows.
bool keeps_numbers(const Node& node);

/// A node of `like`'s kind with its scale, zero point and attributes, before `before`. `type`: of the result.
Value* emit_quantization(Node& before, const Node& like, Value* x, Type type);

} // namespace lanner::passes
