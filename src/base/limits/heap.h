#pragma once
// Memory that was freed, and that the process still holds.

namespace lanner {

/// Gives freed memory of the heap back to the system. Blocks of some megabytes that are taken and freed in
/// turn, as weights are while a model is simplified, leave gaps that the C library keeps otherwise. Takes
/// milliseconds; does nothing where the C library is not glibc.
void give_back_freed_memory() noexcept;

} // namespace lanner
