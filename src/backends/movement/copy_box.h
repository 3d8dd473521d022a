#pragma once
// Copies a box on a CPU.

#include <cstddef>

#include "backends/movement/box.h"

namespace lanner {

/// Copies a simplified box of elements of 1, 2, 4 or 8 bytes. Source and target do not overlap, and no target
/// element is written twice.
void copy_box(const Box& box, const void* source, void* target, std::size_t element_bytes, int threads);

} // namespace lanner
