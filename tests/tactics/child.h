#pragma once
// A process whose standard output is read line by line.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lanner::sweep {

/// Killed and waited for at the end of the scope.
class Child {
public:
  /// Throws Error{io} where it cannot be started. `command` begins with the program's path.
  explicit Child(std::vector<std::string> command);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  enum class Next : unsigned char { line, end, timeout };
  /// Waits for a line, for the end of the output, or `seconds`.
  Next read(std::string& line, double seconds);
  void kill();
  /// Waits for its end; the status as waitpid() gives it.
  int wait();

private:
  pid_t id_ = -1;
  int output_ = -1;
  std::string buffer_;
  std::optional<int> status_;
};

/// `signal 11 (Segmentation fault)` or `exit code 1`.
std::string ending_text(int status);

} // namespace lanner::sweep
