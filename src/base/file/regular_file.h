#pragma once
// Files that the program finds by itself, rather than being given them: in the cache folder, next to a model
// or in a data set.

#include <filesystem>

#include <lanner/source.h>

namespace lanner {

/// open_path() for a file that must be a regular one: a pipe, whose writer may never come, a device or a
/// socket is Error{invalid_argument}, and opening never blocks. Reading throws what check_deadline() throws.
SourcePtr open_regular_file(const std::filesystem::path& path, const Limits& limits = {});

/// The whole content of such a file.
inline Content read_regular_file(const std::filesystem::path& path, const Limits& limits = {}) {
  return read_all(open_regular_file(path, limits), limits);
}

} // namespace lanner
