#pragma once
// Helpers of control flow: types of values that differ from one run of a region to the next, stacks, slices.

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

/// A type that covers both: a size in which they differ is a fresh symbol; where they differ in rank it is
/// unranked. Error{invalid_argument} naming `what` when their element types or kinds differ.
Type common_type(InferContext& context, const Type& a, const Type& b, std::string_view what);

/// Stacks tensors of one shape along a new axis.
class Stack {
public:
  /// Elements are added one by one; `axis` is the new axis of the result (negative ones count from the back).
  explicit Stack(std::int64_t axis = 0, bool backwards = false) : axis_(axis), backwards_(backwards) {}
  /// Error{invalid_argument} when its shape or type differs from the previous one.
  void push(Tensor element);
  /// The stacked elements; without any, the result's declared type gives its shape.
  Tensor joined(const Type& type) const;

private:
  std::int64_t axis_;
  bool backwards_;
  std::vector<Tensor> elements_;
};

/// Writes `slice` at `index` along `axis` of `whole`, which has that axis in addition to the slice's.
void copy_slice(const Tensor& slice, Tensor& whole, std::size_t axis, std::int64_t index);
/// The reverse: reads it.
void take_slice(const Tensor& whole, std::size_t axis, std::int64_t index, Tensor& slice);
Shape without_axis(const Shape& shape, std::size_t axis);

/// How the inputs and outputs of a `scan` are divided: states first on both sides.
struct ScanPlan {
  std::size_t states = 0, scanned = 0, stacked = 0;
  std::vector<std::int64_t> input_axes, output_axes, input_directions, output_directions;
};
ScanPlan plan_scan(const AttributeMap& attributes, std::size_t inputs, std::size_t outputs);

/// A sequence of the items. The list itself is charged to the thread's account; the tensors' memory already
/// is.
Item sequence_of(std::vector<Item> items);

/// Reads one boolean: every byte but 0 is true.
bool read_condition(const Tensor& tensor, std::string_view what);

} // namespace lanner::ops
