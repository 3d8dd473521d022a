#pragma once
// Slices of a tensor that a checkpoint stores in parts, as partitioned variables are.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/shape.h>
#include <lanner/tensor.h>

namespace lanner::tensorflow {

/// A range of one dim.
struct Extent {
  static constexpr std::int64_t whole = -1;
  std::int64_t start = 0;
  std::int64_t length = whole; ///< `whole`: the dim's size.
};

/// One extent for each dim.
using Slice = std::vector<Extent>;

/// The key of a slice's data: the tensor's name and the slice in TensorFlow's OrderedCode.
std::string slice_key(std::string_view name, const Slice& slice);

/// Checks that the slices lie in `shape`, are disjoint and cover it; returns them with their lengths. Throws
/// Error{bad_data}.
std::vector<Slice> checked_slices(const std::vector<Slice>& slices, const Shape& shape);

Shape shape_of(const Slice& slice);

/// Copies a slice's elements, row-major, to its place in `whole`.
void put_slice(const Tensor& part, const Slice& slice, Tensor& whole);
/// A slice's elements, which lie in `whole`, in memory of their own.
Tensor take_slice(const Tensor& whole, const Slice& slice);

} // namespace lanner::tensorflow
