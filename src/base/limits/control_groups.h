#pragma once
// Linux control groups (versions 1 and 2), which limit the resources of a process.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// The folder of one group's files.
struct GroupFolder {
  std::filesystem::path path;
  bool second_version = false;
};

/// Text of /proc/self/cgroup; empty where there is none.
std::string own_groups();

/// Folders of the groups that control `controller` (`cpu`, `memory`), each followed by its parents. `groups`
/// is the text of /proc/self/cgroup, `mount` where the control groups are mounted (/sys/fs/cgroup).
std::vector<GroupFolder> group_folders(std::string_view groups, const std::filesystem::path& mount,
                                       std::string_view controller);

/// The memory limit of a process's groups in bytes, 0 where there is none.
std::uint64_t group_memory(std::string_view groups, const std::filesystem::path& mount);

} // namespace lanner
