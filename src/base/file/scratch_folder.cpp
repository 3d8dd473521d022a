#include "base/file/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "base/system_error.h"

namespace lanner {

ScratchFolder::ScratchFolder(const std::string& purpose) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  std::string pattern = (folder / fmt::format("lanner-{}-XXXXXX", purpose)).string();
  if (error || !::mkdtemp(pattern.data()))
    fail_system(errno, fmt::format("a temporary folder ({})", purpose));
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

} // namespace lanner
