#pragma once
// What a node is given: attribute specifications, axes, and inputs whose values inference needs.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

AttributeSpec integer_attribute(std::string name, std::int64_t fallback);
AttributeSpec real_attribute(std::string name, double fallback);
AttributeSpec string_attribute(std::string name, std::string fallback);
AttributeSpec required_attribute(std::string name, AttributeKind kind);
/// Absent means something that no single value says.
AttributeSpec optional_attribute(std::string name, AttributeKind kind);

/// `axis` counted from the front; Error{invalid_argument} unless -rank <= axis < rank.
std::size_t resolve_axis(std::int64_t axis, std::size_t rank);
/// The same for each, in the given order; a repeated axis is an error.
std::vector<std::size_t> resolve_axes(std::span<const std::int64_t> axes, std::size_t rank);
/// `axes` of the node, resolved; every axis of `rank` when the attribute is absent.
std::vector<std::size_t> axes_attribute(const AttributeMap& attributes, std::size_t rank);

/// A row-major shape seen from one axis: element (o, i, k) lies at (o * size + i) * inner + k.
struct AxisView {
  std::int64_t outer = 1, size = 1, inner = 1;
};
AxisView view_axis(const Shape& shape, std::size_t axis);

/// All elements of an i32 or i64 tensor.
std::vector<std::int64_t> integers_of(const Tensor& tensor);
/// The one element of a tensor of any number type; Error{invalid_argument} when it has another count.
std::int64_t integer_of(const Tensor& tensor);
double real_of(const Tensor& tensor);

/// Elements of integer input `i` as expressions, when it is present and they are known.
std::optional<Dims> known_dims(const InferContext& context, std::size_t i);
/// The same when all are constant.
std::optional<std::vector<std::int64_t>> known_integers(const InferContext& context, std::size_t i);

/// Rank of input `i`, checked to be `rank`, when it is known.
void require_rank(const InferContext& context, std::size_t i, std::size_t rank);
/// Error{invalid_argument} when both are constant and differ: `conv: WHAT is A, expected B`.
void require_equal(const Dim& found, const Dim& expected, std::string_view what);
/// Sizes of elementwise work over both, by NumPy's rule.
Dims broadcast_dims(const Dims& a, const Dims& b);

/// Output `to` has the type of input `from`.
void infer_same(InferContext& context, std::size_t from = 0, std::size_t to = 0);

} // namespace lanner::ops
