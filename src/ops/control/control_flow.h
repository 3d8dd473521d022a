#pragma once
// Types that control flow gives to values that differ from one run of a region to the next.

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

/// A type that holds values of both: a size in which they differ is a fresh symbol, a rank in which they
/// differ is none. Error{invalid_argument} naming `what` when their element types or kinds differ.
Type common_type(InferContext& context, const Type& a, const Type& b, std::string_view what);

/// Tensors of one shape put side by side along a new axis of a result.
class Stack {
public:
  /// The elements come one by one; the result lies along `axis` of it (negative ones count from the back).
  explicit Stack(std::int64_t axis = 0, bool backwards = false) : axis_(axis), backwards_(backwards) {}
  /// Error{invalid_argument} when it has another shape or type than the one before.
  void push(Tensor element);
  /// The elements side by side; without one, the result's declared type gives its shape.
  Tensor joined(const Type& type) const;

private:
  std::int64_t axis_;
  bool backwards_;
  std::vector<Tensor> elements_;
};

/// Writes `slice` at `place` along `axis` of `whole`, which has that axis beside the slice's.
void copy_slice(const Tensor& slice, Tensor& whole, std::size_t axis, std::int64_t place);
/// The other way round.
void take_slice(const Tensor& whole, std::size_t axis, std::int64_t place, Tensor& slice);
Shape without_axis(const Shape& shape, std::size_t axis);

/// How the inputs and outputs of a `scan` divide: states first on both sides.
struct ScanPlan {
  std::size_t states = 0, scanned = 0, stacked = 0;
  std::vector<std::int64_t> input_axes, output_axes, input_directions, output_directions;
};
ScanPlan plan_scan(const AttributeMap& attributes, std::size_t inputs, std::size_t outputs);

/// A sequence of these. The list itself is charged to the thread's account; the tensors' memory is already.
Item sequence_of(std::vector<Item> items);

/// One boolean.
bool read_condition(const Tensor& tensor, std::string_view what);

} // namespace lanner::ops
