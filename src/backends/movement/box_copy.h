#pragma once
// A box with the kernel that moves it.

#include <cstddef>
#include <cstdint>
#include <optional>

#include <lanner/dtype.h>

#include "backends/movement/box_plan.h"
#include "device/cuda/code.h"

namespace lanner::cuda {

/// Whether kernels have axes for it.
bool fits_box_kernels(const Box& box);

/// Moves one box from places of one tensor to places of another, converting real types where they differ.
class BoxCopy {
public:
  /// `box` counts elements, of `from` in the source and of `to` in the target.
  BoxCopy(const Gpu& gpu, const Box& box, DType from, DType to);

  /// Queues it. `source` and `target` are the tensors' first elements, aligned as their elements are or
  /// better.
  void launch(const void* source, void* target, Stream stream) const;

private:
  /// An element or several to a thread.
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
  std::int64_t source_bytes_ = 0, target_bytes_ = 0;          ///< Offsets of the box's first element.
  std::uint64_t source_alignment_ = 1, target_alignment_ = 1; ///< That `grouped_` needs.
  Plain single_;
  std::optional<Plain> grouped_;
  std::optional<Tiled> tiled_;
};

} // namespace lanner::cuda
