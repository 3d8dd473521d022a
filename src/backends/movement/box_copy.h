#pragma once
// A box with the kernel that copies it.

#include <cstddef>
#include <cstdint>
#include <optional>

#include <lanner/dtype.h>

#include "backends/movement/box_plan.h"
#include "device/cuda/code.h"

namespace lanner::cuda {

/// Whether kernels support that many axes.
bool fits_box_kernels(const Box& box);

/// Copies one box from one tensor to another, converting between floating-point types.
class BoxCopy {
public:
  /// `box` counts elements of `from` in the source and of `to` in the target.
  BoxCopy(const Gpu& gpu, const Box& box, DType from, DType to);

  /// Queues the copy. `source` and `target` are the tensors' first elements, at least aligned to their
  /// element size.
  void launch(const void* source, void* target, Stream stream) const;

private:
  /// One or several elements per thread.
  struct Plain {
    FunctionHandle function = nullptr;
    Grid grid;
    BoxParameters parameters;
  };
  struct Tiled {
    FunctionHandle function = nullptr;
    Grid grid;
    TileParameters parameters;
  };

  std::uint64_t elements_ = 0;
  std::int64_t source_bytes_ = 0, target_bytes_ = 0;          ///< Byte offsets of the box's first element.
  std::uint64_t source_alignment_ = 1, target_alignment_ = 1; ///< Required by `grouped_`, `tiled_in_groups_`.
  Plain single_;
  std::optional<Plain> grouped_;
  std::optional<Tiled> tiled_, tiled_in_groups_;

  void set_tiled(const Gpu& gpu, const Box& box, const TileParameters& tiles, DType from, DType to);
};

} // namespace lanner::cuda
