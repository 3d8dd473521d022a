#include "base/limits/control_groups.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace lanner {
namespace {

namespace fs = std::filesystem;

/// The number in a file, 0 where there is none (`max`).
std::uint64_t number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;
}

} // namespace

std::string own_groups() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<GroupFolder> group_folders(std::string_view groups, const fs::path& mount,
                                       std::string_view controller) {
  std::vector<GroupFolder> folders;
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {
    // "hierarchy:controllers:path"; the second version has hierarchy 0 and no controllers.
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool second_version = controllers == ",,";
    if (!second_version && controllers.find("," + std::string(controller) + ",") == std::string::npos)
      continue;
    const fs::path root = second_version ? mount : mount / controller;
    for (fs::path at = fs::path(line.substr(second + 1)).relative_path();; at = at.parent_path()) {
      folders.push_back({at.empty() ? root : root / at, second_version});
      if (at.empty()) break;
    }
  }
  return folders;
}

std::uint64_t group_memory(std::string_view groups, const fs::path& mount) {
  std::uint64_t least = 0;
  for (const auto& [path, second_version] : group_folders(groups, mount, "memory")) {
    const std::uint64_t bound = number_in(path / (second_version ? "memory.max" : "memory.limit_in_bytes"));
    if (bound > 0 && (least == 0 || bound < least)) least = bound;
  }
  return least;
}

} // namespace lanner
