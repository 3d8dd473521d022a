#pragma once
// Files that a test reads.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace lanner::test {

/// All its bytes; empty where there is no such file.
inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace lanner::test
