#include "output/byte_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <lanner/error.h>

#include "check.h"
#include "interrupt.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr int poll_milliseconds = 50;

} // namespace

bool names_stdout(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

bool is_direct(const std::string& path) {
  if (names_stdout(path)) return true;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

ByteOutput::ByteOutput(std::string_view option, const std::string& path) : path_(path) {
  if (names_stdout(path)) return;
  if (is_direct(path))
    open_direct(option);
  else
    file_.emplace(path);
}

ByteOutput::~ByteOutput() {
  if (fd_ >= 0) ::close(fd_);
}

void ByteOutput::open_direct(std::string_view option) {
  while (true) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd_ >= 0) break;
    // A pipe that nobody reads yet.
    check(errno == ENXIO && fs::is_fifo(path_), errno == ENOENT ? ErrorCode::not_found : ErrorCode::io,
          "{} {}: {}", option, path_, std::strerror(errno));
    interrupt_token().check();
    ::poll(nullptr, 0, poll_milliseconds);
  }
}

void ByteOutput::write(std::string_view bytes) {
  if (file_) return file_->write(bytes);
  if (fd_ < 0) return print_out(bytes);
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EPIPE) fail_reader_gone(path_);
    check(errno == EAGAIN || errno == EINTR, ErrorCode::io, "{}: write: {}", path_, std::strerror(errno));
    interrupt_token().check();
    pollfd one{fd_, POLLOUT, 0};
    ::poll(&one, 1, poll_milliseconds);
  }
}

void ByteOutput::commit() {
  if (file_) file_->commit();
  if (!file_ && fd_ < 0) flush_out();
}

} // namespace lanner::tool
