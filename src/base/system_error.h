#pragma once
// Errors of the operating system as Error.

#include <string>
#include <string_view>

namespace lanner {

/// The system's text for an errno value (`No such file or directory`).
std::string system_message(int error);
/// Throws Error{not_found, out_of_memory, io} by `error`, an errno value: `what: system's message; remedy`.
[[noreturn]] void fail_system(int error, std::string_view what);

} // namespace lanner
