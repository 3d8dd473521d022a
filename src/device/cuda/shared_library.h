#pragma once
// Vendor libraries: where they are looked for and with what result.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::cuda {

/// The result of opening a library; kept for `lanner doctor`.
struct SharedLibrary {
  void* handle = nullptr; ///< Never closed: CUDA's libraries do not survive being unloaded.
  std::string path;       ///< Its path; empty when it was not opened.
  std::string reason;     ///< Why it was not opened, each path with its failure, in one line.

  /// Sets `function` to a symbol; if missing, adds the name to `reason` and returns false.
  template<typename Function>
  bool bind(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(find(symbol));
    return function != nullptr;
  }
  void* find(const char* symbol);
};

/// Opens the first of `names` (SONAMEs, newest first) that is found: in the folders of LANNER_LIBRARY_PATH,
/// among the process's open libraries, in the folders given to add_library_folders, by the loader, in
/// CUDA_PATH. A name with a `/` is opened as it is. Never throws.
SharedLibrary open_library(std::span<const char* const> names);

/// A library that is called through a table of its functions, or the reason why there is none.
template<typename Api>
struct LibraryStatus {
  const Api* api = nullptr; ///< Lives as long as the process.
  std::size_t version = 0;  ///< In the library's own numbering; 0 where it reports none.
  std::string path;
  std::string reason; ///< Why `api` is null.
  std::string remedy; ///< What to do about it; empty when it is there.
};

/// Requirements on such a library.
template<typename Api>
struct LibraryNeeds {
  std::span<const char* const> names; ///< As for open_library().
  bool (*bind_all)(SharedLibrary&, Api&);
  const char* remedy;
  std::size_t oldest_version = 0; ///< Below it the library is refused.
};

/// Opens a library and fills its table; its function `version` reports the version. Never throws.
template<typename Api>
LibraryStatus<Api> open_table(const LibraryNeeds<Api>& needs) {
  SharedLibrary library = open_library(needs.names);
  LibraryStatus<Api> status{nullptr, 0, library.path, library.reason, needs.remedy};
  if (!library.handle) return status;
  auto table = std::make_unique<Api>();
  if (!needs.bind_all(library, *table)) {
    status.reason = library.reason;
    return status;
  }
  if constexpr (requires { table->version(); }) status.version = table->version();
  if (status.version < needs.oldest_version) {
    status.reason =
        fmt::format("{} is version {}, older than {}", status.path, status.version, needs.oldest_version);
    return status;
  }
  status.remedy.clear();
  status.api = table.release(); // used while static objects are destroyed
  return status;
}

/// The function table. Throws Error{unsupported} with the reason and the remedy where there is none.
template<typename Api>
const Api& table_of(const LibraryStatus<Api>& status, std::string_view library) {
  check(status.api != nullptr, ErrorCode::unsupported, "{} cannot be used here: {}; {}", library,
        status.reason, status.remedy);
  return *status.api;
}

/// Adds folders searched by open_library(), for instance those of Python's nvidia packages. Thread-safe;
/// libraries that are already open stay.
void add_library_folders(std::span<const std::filesystem::path> folders);

} // namespace lanner::cuda
