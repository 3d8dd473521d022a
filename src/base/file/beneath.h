#pragma once
// Opens files that an untrusted file names, without leaving a folder.

#include <filesystem>
#include <string>

#include "base/file/descriptor.h"

namespace lanner {

/// Opens the regular file `relative` beneath `folder` for reading. Throws Error{bad_data} for an absolute
/// path, `..`, any symbolic link on the way or a file with more than one hard link; Error{not_found, io}
/// otherwise.
Descriptor open_file_beneath(const std::filesystem::path& folder, const std::string& relative);

/// The same without openat2, for kernels before 5.6: each path component is opened with O_NOFOLLOW.
Descriptor open_file_beneath_by_component(const std::filesystem::path& folder, const std::string& relative);

} // namespace lanner
