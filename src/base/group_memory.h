#pragma once
// How much memory the control groups of a process leave it.

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace lanner {

/// Bytes that the groups bound a process to, 0 where none does. `groups` is the text of /proc/self/cgroup,
/// `mount` where the control groups are mounted (/sys/fs/cgroup); both versions are understood.
std::uint64_t group_memory(std::string_view groups, const std::filesystem::path& mount);

} // namespace lanner
