#include "input/pipe_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <lanner/error.h>

#include "check.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int poll_milliseconds = 100;
constexpr std::uint64_t kept_bytes = 512;         ///< First bytes, which tell the kind.
constexpr auto timeout = std::chrono::seconds(3); ///< Time without a byte before the user is told.

/// Returns bytes as soon as they come, so that frames of a slow stream do not wait for a full buffer. Owns
/// its
/// descriptor.
class PipeSource final : public ByteSource {
public:
  PipeSource(int fd, std::string name, CancelToken stop)
      : fd_(fd), name_(std::move(name)), stop_(std::move(stop)), opened_(Clock::now()) {}
  ~PipeSource() override { ::close(fd_); }
  PipeSource(const PipeSource&) = delete;
  PipeSource& operator=(const PipeSource&) = delete;

  const std::string& name() const noexcept override { return name_; }
  std::int64_t size() const noexcept override { return -1; }
  bool seekable() const noexcept override { return false; }
  std::span<const std::byte> map() override { return {}; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset < head_.size()) {
      const std::size_t count = std::min(into.size(), head_.size() - static_cast<std::size_t>(offset));
      std::memcpy(into.data(), head_.data() + offset, count);
      return count;
    }
    check(offset >= position_, ErrorCode::io,
          "{}: cannot go back from byte {} to {}; copy it to a file first", name_, position_, offset);
    std::vector<std::byte> skipped;
    while (position_ < offset) {
      skipped.resize(static_cast<std::size_t>(std::min<std::uint64_t>(offset - position_, 1u << 16)));
      if (read(skipped) == 0) return 0;
    }
    return into.empty() ? 0 : read(into);
  }

private:
  std::size_t read(std::span<std::byte> into) {
    ssize_t count = -1;
    while (count < 0) {
      wait();
      count = ::read(fd_, into.data(), into.size());
      check(count >= 0 || errno == EINTR || errno == EAGAIN, ErrorCode::io, "{}: read: {}", name_,
            std::strerror(errno));
    }
    const std::span<const std::byte> come = into.first(static_cast<std::size_t>(count));
    if (position_ < kept_bytes) head_.insert(head_.end(), come.begin(), come.end());
    position_ += come.size();
    const std::uint64_t limit = given_limits().file_bytes;
    check(position_ <= limit, ErrorCode::limit_exceeded,
          "{}: {} bytes or more, the limit file_bytes is {}; give --limit file_bytes=...", name_, position_,
          limit);
    return come.size();
  }

  /// Polls, as a blocking read would not react to Ctrl-C.
  void wait() {
    pollfd one{fd_, POLLIN, 0};
    while (true) {
      interrupt_token().check();
      stop_.check();
      const int ready = ::poll(&one, 1, poll_milliseconds);
      if (ready > 0) return;
      check(ready == 0 || errno == EINTR, ErrorCode::io, "{}: {}", name_, std::strerror(errno));
      if (position_ > 0 || told_ || Clock::now() - opened_ < timeout) continue;
      told_ = true;
      print_note(fmt::format("{}: waiting for the first bytes of the pipe (Ctrl-C ends it)", name_));
    }
  }

  const int fd_;
  const std::string name_;
  const CancelToken stop_;
  const Clock::time_point opened_;
  std::vector<std::byte> head_; ///< The first bytes, which may be read again.
  std::uint64_t position_ = 0;
  bool told_ = false;
};

} // namespace

std::string clip_path(const std::string& given) {
  return given == "-" ? "/dev/stdin" : given;
}

bool names_stdin(const std::string& path) {
  return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

SourcePtr open_pipe(const std::string& path, const CancelToken& stop) {
  // Without blocking: a plain open returns only once somebody opens the pipe to write.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(fd >= 0, errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, "{}: {}", path,
        std::strerror(errno));
  return std::make_shared<PipeSource>(fd, path, stop);
}

SourcePtr open_stdin(const CancelToken& stop) {
  struct stat status {};
  const bool open = ::fstat(STDIN_FILENO, &status) == 0;
  check(open, ErrorCode::io, "-i -: standard input is closed");
  if (S_ISREG(status.st_mode)) return open_path("/dev/stdin", given_limits());
  check(::isatty(STDIN_FILENO) == 0, ErrorCode::invalid_argument,
        "-i -: standard input is a terminal; pipe a clip or an image into it: ... | lanner run MODEL -i -");
  check(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode), ErrorCode::invalid_argument,
        "-i -: standard input is neither a file nor a pipe");
  const int fd = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  check(fd >= 0, ErrorCode::io, "-i -: {}", std::strerror(errno));
  return std::make_shared<PipeSource>(fd, stdin_name, stop);
}

} // namespace lanner::tool
