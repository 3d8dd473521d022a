#pragma once
// Heap memory that was freed but not returned to the system.

namespace lanner {

/// Returns freed heap memory to the system. Blocks of some megabytes that are allocated and freed
/// alternately, as weights are while a model is simplified, leave gaps that the C library keeps otherwise.
/// Takes milliseconds; does nothing where the C library is not glibc.
void give_back_freed_memory() noexcept;

} // namespace lanner
