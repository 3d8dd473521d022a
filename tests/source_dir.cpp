#include "source_dir.h"

namespace lanner::test {

std::filesystem::path source_dir() {
  return LANNER_SOURCE_DIR;
}

std::filesystem::path shared_data_dir() {
  return source_dir().parent_path() / "shared" / "data";
}

} // namespace lanner::test
