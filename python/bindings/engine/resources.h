#pragma once
// What Python gives of the program around a run: a log, threads, memory.

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
/// it leaves out are run by the thread that asked, so that whatever it does or raises, results are right.
std::shared_ptr<const Executor> to_executor(nb::handle executor);

/// Addresses of the functions of a lanner_allocator, and of what they are given: (allocate, release, user).
std::optional<lanner_allocator> to_allocator(nb::handle addresses);

} // namespace lanner::python
