#pragma once
// Files that a program finds by itself, and was not given: those of the cache folder, those that lie beside a
// model or in a data set.

#include <filesystem>

#include <lanner/source.h>

namespace lanner {

/// open_path() for a file that must be one on a disk: a pipe, whose writer may never come, a device or a
/// socket is Error{invalid_argument}, and opening waits for nobody. Reading throws what check_deadline()
/// throws.
SourcePtr open_regular_file(const std::filesystem::path& path, const Limits& limits = {});

/// All of such a file.
inline Content read_regular_file(const std::filesystem::path& path, const Limits& limits = {}) {
  return read_all(open_regular_file(path, limits), limits);
}

} // namespace lanner
