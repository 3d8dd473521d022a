#include "tactics/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::sweep {

namespace {
using Clock = std::chrono::steady_clock;
}

Child::Child(std::vector<std::string> command) {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC) == 0, ErrorCode::io, "no pipe to a worker: {}", std::strerror(errno));
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int failed = ::posix_spawn(&id_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
  if (failed == 0) return;
  ::close(output_);
  fail(ErrorCode::io, "{} cannot be started: {}", command[0], std::strerror(failed));
}

Child::~Child() {
  if (!status_) {
    kill();
    wait();
  }
  ::close(output_);
}

Child::Next Child::read(std::string& line, double seconds) {
  const auto until = Clock::now() + std::chrono::duration<double>(std::min(seconds, 1e6));
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Next::line;
    }
    const double left = std::chrono::duration<double>(until - Clock::now()).count();
    if (left <= 0) return Next::timeout;
    pollfd waiting{output_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, 1e6) * 1000) + 1);
    if (ready < 0 && errno != EINTR) fail(ErrorCode::io, "a worker's output: {}", std::strerror(errno));
    if (ready <= 0) continue;
    std::array<char, 65536> piece{};
    const ssize_t bytes = ::read(output_, piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return Next::end;
    buffer_.append(piece.data(), static_cast<std::size_t>(bytes));
  }
}

void Child::kill() {
  if (!status_) ::kill(id_, SIGKILL);
}

int Child::wait() {
  if (status_) return *status_;
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
  return status;
}

std::string ending_text(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

} // namespace lanner::sweep
