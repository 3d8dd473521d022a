#pragma once
// Operators that only move elements, as boxes: transpose, slice, concat, split, pad, expand, tile,
// depth_to_space, space_to_depth, and reorder between layouts without blocks.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily movement_family;

/// reorder between any two storages, element by element: what is left when neither oneDNN nor boxes do it.
extern const KernelFamily copy_family;

/// gather by rows, of row-major data.
extern const KernelFamily gather_family;

} // namespace lanner
