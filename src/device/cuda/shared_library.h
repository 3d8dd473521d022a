#pragma once
// Libraries of a vendor: where they are looked for and what became of that.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::cuda {

/// What became of opening a library; kept for `lanner doctor`.
struct SharedLibrary {
  void* handle = nullptr; ///< Never closed: CUDA's libraries do not survive being unloaded.
  std::string path;       ///< Where it lies; empty when it was not opened.
  std::string reason;     ///< Why it was not opened, each place with its failure, in one line.

  /// Sets `function` to a symbol; else adds the name to `reason` and returns false.
  template<typename Function>
  bool bind(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(find(symbol));
    return function != nullptr;
  }
  void* find(const char* symbol);
};

/// Opens the first of `names` (SONAMEs, newest first) that is found: in the folders of LANNER_LIBRARY_PATH,
/// in the process already, in the library folders given to add_library_folders, by the loader, in CUDA_PATH.
/// A name with a `/` is opened as it is. Never throws.
SharedLibrary open_library(std::span<const char* const> names);

/// Folders searched by open_library, for instance those of Python's nvidia packages. Thread-safe; libraries
/// that were opened stay.
void add_library_folders(std::span<const std::filesystem::path> folders);

} // namespace lanner::cuda
