#pragma once
// A tensor as a strided view of another's memory: chains of transposes, reshapes and slices as one map.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"

namespace lanner {

/// Part of a dim: `size` steps of `stride` elements.
struct StridedFactor {
  std::int64_t size = 1, stride = 0;
  friend bool operator==(const StridedFactor&, const StridedFactor&) = default;
};

/// One dim, or several merged in row-major order, outermost factor first. Empty: one element.
using StridedDim = std::vector<StridedFactor>;

/// The addresses of a tensor's elements in the memory of another one, in elements from its first. A dim may
/// have several factors, as a reshape merges dims that are not adjacent in memory.
class StridedView {
public:
  /// All of a row-major tensor.
  static StridedView dense(const Shape& shape);

  const std::vector<StridedDim>& dims() const noexcept { return dims_; }
  std::int64_t offset() const noexcept { return offset_; }
  Shape shape() const;

  /// The same elements, in row-major order as another shape. Nothing where a dim of it would have to divide a
  /// factor unevenly.
  std::optional<StridedView> reshaped(const Shape& shape) const;
  /// Dim i of the result is dim order[i].
  StridedView transposed(const std::vector<std::size_t>& order) const;
  /// Numpy's broadcast to `shape`.
  std::optional<StridedView> broadcast(const Shape& shape) const;
  /// The result of `op` on input 0, where this view describes input 0: op is a transpose, reshape, slice or
  /// expand with known parameters. Nothing for others.
  std::optional<StridedView> through(const GroupOp& op) const;
  /// The inverse: the view of input 0, if this view describes the result of `op`. For transpose and reshape.
  std::optional<StridedView> before(const GroupOp& op) const;

private:
  StridedView() = default;
  std::optional<StridedView> sliced(const GroupOp& op) const;

  std::vector<StridedDim> dims_;
  std::int64_t offset_ = 0;
};

/// Dims `first` to `last` (exclusive) as one, contiguous ones merged.
StridedDim joined_dims(const StridedView& view, std::size_t first, std::size_t last);

/// The offset of element `index` of a dim, as a C expression of that non-negative integer; `0` where all have
/// the same offset.
std::string offset_text(const StridedDim& dim, const std::string& index);

} // namespace lanner
