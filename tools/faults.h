#pragma once
// A message on stderr before a fault ends the command.

namespace lanner::tool {

/// After this call a file that grows beyond the limit of its size (ulimit -f) is an error of write(), and a
/// fault that the processor reports is printed on stderr before it ends the process with its core dump. Some
/// libraries fault when the system refuses them memory, as oneDNN's kernel compiler does in a small address
/// space.
void tell_of_faults();

} // namespace lanner::tool
