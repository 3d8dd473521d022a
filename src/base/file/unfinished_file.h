#pragma once
// Files while they are written, under a name beside the one that they will have.

#include <filesystem>

#include "base/file/descriptor.h"

namespace lanner {

/// `.NAME.BOOT-RANDOM.part`, where BOOT is a hash of the system's boot. Its writer holds a lock on it, so
/// that others can tell whether he lives.
struct UnfinishedFile {
  std::filesystem::path path;
  Descriptor fd; ///< For reading and writing; the lock is given up with its last copy.
};

/// A new one beside `path`. Sets errno, and has no `fd`, where the system refuses it.
UnfinishedFile create_unfinished_file(const std::filesystem::path& path);

/// Removes those that processes left in `folder` which ended before they were done: whose lock is free, and,
/// where another machine that shares the folder may have written them, that nobody wrote to for a week. Each
/// folder is looked at once in a process.
void remove_unfinished_files(const std::filesystem::path& folder) noexcept;

} // namespace lanner
