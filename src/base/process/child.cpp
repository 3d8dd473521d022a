#include "base/process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>

#include "base/file/descriptor.h"
#include "base/limits/account.h"
#include "base/system_error.h"
#include "base/text/one_line.h"

extern char** environ; // what a child inherits; the library itself reads it in base/options.cpp alone

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> merged_environment(const std::vector<std::string>& own) {
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> all = own;
  for (char** entry = environ; entry && *entry; ++entry)
    if (std::ranges::none_of(own, [&](const std::string& one) { return name_of(one) == name_of(*entry); }))
      all.emplace_back(*entry);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

/// A started child, with all of its group; ended and waited for by the destructor.
class Child {
public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) end();
  }
  /// Whether it ended by itself; end() gives its status.
  bool has_ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == pid_;
  }
  /// Kills what is left of its group; returns the status of waitpid().
  int end() {
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

private:
  pid_t pid_;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_system(errno, "a pipe to a child process");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  Descriptor read, write;
};

/// Returns the child's number; 0 with `error` where it was not started.
pid_t spawn(const ChildProgram& program, int output, int& error) {
  std::vector<std::string> words = program.arguments, variables = merged_environment(program.environment);
  words.insert(words.begin(), program.program);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) sigaddset(&defaults, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  error = posix_spawnp(&pid, program.program.c_str(), &actions, &attributes, pointers(words).data(),
                       pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : 0;
}

constexpr int poll_milliseconds = 50;

/// Appends what there is to read; false where there was nothing for a while, or never will be.
bool read_some(Descriptor& from, std::string& output) {
  std::array<char, 1 << 14> buffer;
  if (!from) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return false;
  }
  pollfd ready{from.get(), POLLIN, 0};
  if (poll(&ready, 1, poll_milliseconds) <= 0) return false;
  const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
  if (count > 0) output.append(buffer.data(), static_cast<std::size_t>(count));
  if (count == 0) from.close();
  return count > 0;
}

/// Reads until the child ends. False past the time.
bool wait_for(const Child& child, Descriptor& from, const ChildProgram& program, std::string& output) {
  const auto end =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(program.seconds * 1000));
  while (true) {
    check_deadline();
    if (program.seconds > 0 && Clock::now() > end) return false;
    const bool ended = child.has_ended(); // before reading: what it wrote is there
    const bool more = read_some(from, output);
    if (output.size() > 2 * program.output_bytes) output.erase(0, output.size() - program.output_bytes);
    if (ended && !more) return true;
  }
}

} // namespace

ChildResult run_child(const ChildProgram& program) {
  Pipe pipe;
  ChildResult result;
  const pid_t pid = spawn(program, pipe.write.get(), result.start_error);
  if (pid == 0) return result;
  Child child(pid);
  pipe.write.close();
  result.timed_out = !wait_for(child, pipe.read, program, result.output);
  const int status = child.end();
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (result.output.size() > program.output_bytes)
    result.output.erase(0, result.output.size() - program.output_bytes);
  return result;
}

std::string last_line(const ChildResult& result, std::size_t longest) {
  const std::size_t end = result.output.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "no reason was given";
  const std::size_t newline = result.output.find_last_of("\n\r", end);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  return one_line(result.output.substr(start, end + 1 - start), longest);
}

} // namespace lanner
