#pragma once
// Outputs that may be files, standard output, pipes or devices.

#include <optional>
#include <string>
#include <string_view>

#include <lanner/output.h>

namespace lanner::tool {

bool names_stdout(const std::string& path);
/// Outputs that are written as a stream and cannot be replaced: standard output, a named pipe, a device like
/// /dev/null.
bool is_direct(const std::string& path);

/// A file appears, complete and under its name, only at commit(); outputs with is_direct() get the bytes at
/// once. Errors are Error{not_found, io, invalid_argument} and name `option` or the path.
class ByteOutput {
public:
  ByteOutput(std::string_view option, const std::string& path);
  ~ByteOutput();
  ByteOutput(const ByteOutput&) = delete;
  ByteOutput& operator=(const ByteOutput&) = delete;

  void write(std::string_view bytes);
  void commit();

private:
  void open_direct(std::string_view option);

  std::string path_;
  std::optional<OutputFile> file_;
  int fd_ = -1; ///< For a named pipe or a device.
};

} // namespace lanner::tool
