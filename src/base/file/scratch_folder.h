#pragma once
// A folder for the files of one call.

#include <filesystem>
#include <string>

namespace lanner {

/// Made in the system's folder for temporary files, for the user alone; removed with what is in it.
class ScratchFolder {
public:
  /// `purpose`: of its name and of messages, like `keras`. Throws Error{io}.
  explicit ScratchFolder(const std::string& purpose);
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace lanner
