#pragma once
// Files for readers that take a path.

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace lanner::fuzz {

/// A folder for this process, in memory where the system has one.
class Folder {
public:
  explicit Folder(const char* name) {
    const std::filesystem::path memory = "/dev/shm";
    const auto parent = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = parent / fmt::format("lanner-fuzz-{}-{}", name, ::getpid());
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

} // namespace lanner::fuzz
