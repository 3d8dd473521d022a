#pragma once
// Runs other programs.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/cancel.h>

namespace lanner::tool {

/// Path of a program on PATH; empty if not found.
std::string find_program(std::string_view name);

/// Runs a program with `input` on its stdin and returns its stdout; none when it fails, is cancelled, takes
/// longer than `seconds` or prints more than `max_bytes`.
std::optional<std::string> run_program(const std::string& path, const std::vector<std::string>& arguments,
                                       std::string_view input, double seconds, const CancelToken& cancel,
                                       std::size_t max_bytes = 64u << 20);

} // namespace lanner::tool
