#pragma once
// Python's log callback, executor and allocator.

#include <memory>
#include <optional>

#include <lanner/allocator.h>
#include <lanner/log.h>
#include <lanner/threads.h>

#include "calls/bindings.h"

namespace lanner::python {

/// Calls `log(level, message)`, from any thread; empty for None. What it raises goes to sys.unraisablehook.
LogCallback to_log(nb::handle log);

/// Calls `executor(count, piece)`, which calls `piece(i)` for each i below count; null for None. Pieces that
/// it leaves out run on the calling thread, so results are right whatever it does or raises.
std::shared_ptr<const Executor> to_executor(nb::handle executor);

/// Addresses of the functions of a lanner_allocator and of its user pointer: (allocate, release, user).
std::optional<lanner_allocator> to_allocator(nb::handle addresses);

} // namespace lanner::python
