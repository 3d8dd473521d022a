#pragma once
// Access to a node's attributes, axes and inputs, for inference.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "ops/definition/axis.h"
#include "ops/definition/broadcast.h"
#include "ops/definition/known.h"
#include "ops/table/rules.h"

namespace lanner::ops {

AttributeSpec integer_attribute(std::string name, std::int64_t fallback, AttributeRule rule);
/// An attribute that is 0 or 1.
AttributeSpec flag_attribute(std::string name, bool fallback);
AttributeSpec real_attribute(std::string name, double fallback, AttributeRule rule);
AttributeSpec string_attribute(std::string name, std::string fallback, AttributeRule rule);
AttributeSpec dtype_attribute(std::string name, DType fallback, DTypeSet types);
AttributeSpec required_attribute(std::string name, AttributeKind kind, AttributeRule rule);
/// An attribute whose absence has a meaning that no single value has.
AttributeSpec optional_attribute(std::string name, AttributeKind kind, AttributeRule rule);

/// `axes` of the node, resolved; every axis of `rank` when the attribute is absent.
std::vector<std::size_t> axes_attribute(const AttributeMap& attributes, std::size_t rank);

/// A row-major shape viewed along one axis: element (o, i, k) is at (o * size + i) * inner + k.
struct AxisView {
  std::int64_t outer = 1, size = 1, inner = 1;
};
AxisView view_axis(const Shape& shape, std::size_t axis);

/// The single element of a tensor of any number type; Error{invalid_argument} when it has another count.
double read_real(const Tensor& tensor, std::string_view what);
/// All elements in double.
std::vector<double> doubles_of(const Tensor& tensor);

/// Checks that input `i`, if its rank is known, has rank `rank`.
void require_rank(const InferContext& context, std::size_t i, std::size_t rank);
/// Error{invalid_argument} when both are constant and differ: `WHAT is A, expected B`.
void require_equal(const Dim& found, const Dim& expected, std::string_view what);
/// Error{invalid_argument} unless input `i` broadcasts to `wide` from its last axis on: each size is that of
/// `wide` or 1, as far as both are constant.
void require_spreads(const InferContext& context, std::size_t i, const Dims& wide, std::string_view what);
/// Error{invalid_argument} unless an output has the shape that a kernel found; a model may declare another.
void require_shape(const Tensor& output, const Shape& expected, std::string_view what);
/// Sets the type of output `to` to that of input `from`.
void infer_like(InferContext& context, std::size_t from = 0, std::size_t to = 0);

} // namespace lanner::ops
