#include "device/cuda/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "base/options.h"

namespace lanner::cuda {
namespace {

namespace fs = std::filesystem;

std::mutex folders_mutex;

std::vector<fs::path>& folders() {
  static auto* list = new std::vector<fs::path>; // outlives static objects that open libraries late
  return *list;
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
}

bool open_at(SharedLibrary& library, const std::string& name, int flags) {
  library.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (library.handle) {
    library.path = path_of(library.handle);
    library.reason.clear();
    return true;
  }
  const char* reason = dlerror();
  if (!(flags & RTLD_NOLOAD) && reason)
    library.reason += fmt::format("{}{}", library.reason.empty() ? "" : "; ", reason);
  return false;
}

std::vector<fs::path> search_folders() {
  std::vector<fs::path> list;
  {
    const std::lock_guard lock(folders_mutex);
    list = folders();
  }
  return list;
}

bool open_file(SharedLibrary& library, const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) && open_at(library, file.string(), 0);
}

} // namespace

void* SharedLibrary::find(const char* symbol) {
  void* found = handle ? dlsym(handle, symbol) : nullptr;
  if (!found && handle) reason = fmt::format("{}: it has no {}", path, symbol);
  return found;
}

SharedLibrary open_library(std::span<const char* const> names) {
  SharedLibrary library;
  // Before libraries that the process has open: a folder that the user names takes precedence.
  for (const char* name : names)
    for (const fs::path& folder : options().library_path)
      if (open_file(library, folder / name)) return library;
  for (const char* name : names)
    if (std::string_view(name).find('/') == std::string_view::npos && open_at(library, name, RTLD_NOLOAD))
      return library;
  const std::vector<fs::path> own = search_folders();
  for (const char* name : names) {
    for (const fs::path& folder : own)
      if (open_file(library, folder / name)) return library;
    if (open_at(library, name, 0)) return library;
    const fs::path& toolkit = options().cuda_path;
    if (!toolkit.empty() && open_file(library, toolkit / "lib64" / name)) return library;
  }
  return library;
}

void add_library_folders(std::span<const fs::path> more) {
  const std::lock_guard lock(folders_mutex);
  for (const fs::path& folder : more)
    if (std::find(folders().begin(), folders().end(), folder) == folders().end()) folders().push_back(folder);
}

} // namespace lanner::cuda
