#pragma once
// A line for what would end the command without one.

namespace lanner::tool {

/// From now on a file that grows beyond the limit of its size (ulimit -f) is an error of write(), and a fault
/// that the processor reports is told on stderr before it ends the process as ever, with its core dump. Of
/// libraries some meet it when the system refuses them memory, as oneDNN's compiler of kernels does within a
/// small address space.
void tell_of_faults();

} // namespace lanner::tool
