#pragma once
// The control groups of a process, which bound what it may take. Both of their versions are understood.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// A folder with the files of one group.
struct GroupFolder {
  std::filesystem::path path;
  bool second_version = false;
};

/// Text of /proc/self/cgroup; empty where there is none.
std::string own_groups();

/// Folders of the groups that have a say on `controller` (`cpu`, `memory`), each with those around it.
/// `groups` is the text of /proc/self/cgroup, `mount` where the control groups are mounted (/sys/fs/cgroup).
std::vector<GroupFolder> group_folders(std::string_view groups, const std::filesystem::path& mount,
                                       std::string_view controller);

/// Bytes that the groups bound a process to, 0 where none does.
std::uint64_t group_memory(std::string_view groups, const std::filesystem::path& mount);

} // namespace lanner
