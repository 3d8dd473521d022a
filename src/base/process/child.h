#pragma once
// Runs a program as a child process.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace lanner {

struct ChildProgram {
  std::string program;                ///< A path, or a name on PATH. No shell is involved.
  std::vector<std::string> arguments; ///< Without the program's own name.
  /// `NAME=value`: replace variables of the process, whose others the child has too.
  std::vector<std::string> environment;
  std::filesystem::path folder;        ///< The folder that it runs in.
  double seconds = 0;                  ///< It is ended after this time; 0: never.
  std::size_t output_bytes = 1u << 16; ///< The end of what it prints that is kept.
};

struct ChildResult {
  int start_error = 0; ///< errno where the program could not be started; else 0.
  int exit_code = -1;  ///< -1: it was ended by `signal`.
  int signal = 0;
  bool timed_out = false; ///< After `seconds`.
  std::string output;     ///< The end of its standard output and error.
};

/// Waits for its end. It has a process group of its own, which is killed before an exception leaves: of
/// check_deadline(), which is called while it runs. Its standard input is empty.
ChildResult run_child(const ChildProgram& program);

/// The last line that a child printed, of at most so many characters: the reason that it gave.
std::string last_line(const ChildResult& result, std::size_t longest);

} // namespace lanner
