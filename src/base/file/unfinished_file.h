#pragma once
// Files while they are written, under a temporary name next to their final one.

#include <filesystem>

#include "base/file/descriptor.h"

namespace lanner {

/// `.NAME.BOOT-RANDOM.part`, where BOOT is a hash of the system's boot. Its writer holds a lock on it, so
/// that others can tell whether the writer is alive.
struct UnfinishedFile {
  std::filesystem::path path;
  Descriptor fd; ///< For reading and writing; the lock is released with its last copy.
};

/// Creates one next to `path`. Sets errno, and has no `fd`, where the system refuses it.
UnfinishedFile create_unfinished_file(const std::filesystem::path& path);

/// Removes the unfinished files in `folder` whose processes ended: those whose lock is free and, where
/// another machine that shares the folder may have written them, that were not written to for a week. Each
/// folder is cleaned up once per process.
void remove_unfinished_files(const std::filesystem::path& folder) noexcept;

} // namespace lanner
