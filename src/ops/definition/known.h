#pragma once
// Knowledge of inference about small integer tensors, and integers read from tensors at run time.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

/// The elements of input `i`, an integer or boolean tensor, as expressions; nothing when the input is absent
/// or unknown.
std::optional<Dims> known_elements(const InferContext& context, std::size_t i);
/// The elements of input `i` when all are constant.
std::optional<std::vector<std::int64_t>> known_integers(const InferContext& context, std::size_t i);
/// The one element of input `i`, when known; Error{invalid_argument} when it has more than one.
std::optional<Dim> known_scalar(const InferContext& context, std::size_t i);
/// The constant sizes of input `i`, when all are.
std::optional<Shape> static_shape(const InferContext& context, std::size_t i);
/// The constant size of the one-dimensional input `i`.
std::optional<std::size_t> static_length(const InferContext& context, std::size_t i);

/// Declares that output `i`, of `type`, holds `elements` (row-major). Does nothing when the type is neither
/// integer nor boolean, is not static or does not have `elements.size()` elements, or more than
/// max_known_elements.
void set_known_elements(InferContext& context, std::size_t i, const Type& type, Dims elements);
/// Declares that output `i`, of `type`, holds input 0's elements in the same order.
void set_known_view(InferContext& context, std::size_t i, const Type& type);

/// Calls `body`, which makes expressions of known values. Kernels wrap around where an expression would
/// overflow 64 bits: such a value is not a size, and stays unknown.
void unless_overflowing(const std::function<void()>& body);

/// An operation on expressions, or nothing where it cannot be expressed.
using KnownUnary = std::function<std::optional<Dim>(const Dim&)>;
using KnownBinary = std::function<std::optional<Dim>(const Dim&, const Dim&)>;
/// Applies `rule` to the known elements of input 0 and declares the result for output 0.
void propagate_unary(InferContext& context, const Type& type, const KnownUnary& rule);
/// The elements that `rule` returns for two known operands, broadcast to `shape`.
std::optional<Dims> combine_known(const std::optional<Dims>& a, const Shape& a_shape,
                                  const std::optional<Dims>& b, const Shape& b_shape, const Shape& shape,
                                  const KnownBinary& rule);
/// Applies `rule` to the known elements of inputs 0 and 1 and declares the result for output 0.
void propagate_binary(InferContext& context, const Type& type, const KnownBinary& rule);

/// Known elements broadcast from one shape to another.
std::optional<Dims> broadcast_known(const std::optional<Dims>& elements, const Shape& from, const Shape& to);

/// Whether an expression over sizes is certainly >= 0.
bool surely_nonnegative(const Dim& dim);

/// The elements of an integer or boolean tensor. Error{invalid_argument} naming `what` for another type.
std::vector<std::int64_t> read_integers(const Tensor& tensor, std::string_view what);
/// The one element of an integer or boolean tensor.
std::int64_t read_integer(const Tensor& tensor, std::string_view what);

} // namespace lanner::ops
