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

/// Tensors of one shape put side by side along a new axis of a result that `allocate_stacked` gave out.
class Stack {
public:
  /// The elements come one by one; the result lies along `axis` of it (negative ones count from the back).
  explicit Stack(std::int64_t axis = 0, bool backwards = false) : axis_(axis), backwards_(backwards) {}
  /// Error{invalid_argument} when it has another shape or type than the one before.
  void push(Tensor element);
  /// Writes the elements to output `i`; without one, its declared type gives the shape.
  void store(KernelContext& context, std::size_t i) const;

private:
  std::int64_t axis_;
  bool backwards_;
  std::vector<Tensor> elements_;
};

/// A sequence of these. The list itself is charged to the thread's account; the tensors' memory is already.
Item sequence_of(std::vector<Item> items);

/// One boolean.
bool read_condition(const Tensor& tensor, std::string_view what);

} // namespace lanner::ops
