#include "program.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
};

/// A running program; killed and reaped by the destructor.
class Child {
public:
  bool start(const std::string& path, const std::vector<std::string>& arguments, Pipe& input, Pipe& output) {
    std::vector<char*> words{const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int status = posix_spawn(&pid_, path.c_str(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0) pid_ = -1;
    return status == 0;
  }
  ~Child() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool succeeded() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

private:
  pid_t pid_ = -1;
};

/// Transfers bytes both ways until the program closes its output. False past the deadline or on an error.
bool converse(Pipe& input, Pipe& output, std::string_view text, std::string& answer,
              Clock::time_point deadline, const CancelToken& cancel, std::size_t max_bytes) {
  fcntl(input.write, F_SETFL, O_NONBLOCK);
  while (true) {
    if (cancel.cancelled() || Clock::now() > deadline || answer.size() > max_bytes) return false;
    if (text.empty()) Pipe::close_end(input.write);
    std::array<pollfd, 2> ends{{{output.read, POLLIN, 0}, {input.write, POLLOUT, 0}}};
    if (poll(ends.data(), 2, 100) < 0 && errno != EINTR) return false;
    if (ends[1].revents != 0 && !text.empty()) {
      const ssize_t written = ::write(input.write, text.data(), text.size());
      if (written < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (ends[0].revents == 0) continue;
    std::array<char, 1 << 16> buffer;
    const ssize_t count = ::read(output.read, buffer.data(), buffer.size());
    if (count == 0) return true;
    if (count > 0)
      answer.append(buffer.data(), static_cast<std::size_t>(count));
    else if (errno != EINTR && errno != EAGAIN)
      return false;
  }
}

} // namespace

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    if (folder.empty() || folder[0] != '/') continue;
    std::string candidate = std::string(folder) + "/" + std::string(name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::optional<std::string> run_program(const std::string& path, const std::vector<std::string>& arguments,
                                       std::string_view input, double seconds, const CancelToken& cancel,
                                       std::size_t max_bytes) {
  Pipe in, out;
  Child child;
  if (!in.open() || !out.open() || !child.start(path, arguments, in, out)) return std::nullopt;
  Pipe::close_end(in.read);
  Pipe::close_end(out.write);
  const auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  std::string answer;
  if (!converse(in, out, input, answer, deadline, cancel, max_bytes) || !child.succeeded())
    return std::nullopt;
  return answer;
}

} // namespace lanner::tool
