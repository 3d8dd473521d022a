// The command `lanner`.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/version.h>

#include "command.h"
#include "faults.h"
#include "interrupt.h"
#include "options/help.h"
#include "options/usage.h"
#include "output/console.h"
#include "output/warnings.h"

namespace lanner::tool {
namespace {

enum ExitCode { exit_ok = 0, exit_fault = 1, exit_bad_input = 2, exit_interrupted = 130, exit_unread = 141 };

constexpr const char* footer = R"(Examples:
  lanner doctor                                        what this machine offers
  lanner probe clip.mp4                                what is in a clip
  lanner run model.onnx -i clip.mp4 -o marked.mp4      a clip with what was found
  lanner build model.onnx -o model.plan && lanner bench model.plan

Exit codes: 0 done, 1 a fault of the program or the machine, 2 bad input or usage, 130 interrupted, 141 the reader of
an output, like head, has gone.)";

int complain(std::string_view message, int code) {
  std::fprintf(stderr, "lanner: %s\n", one_line(message).c_str());
  return code;
}

int exit_code(ErrorCode code) {
  switch (code) {
  case ErrorCode::cancelled:
    return exit_interrupted;
  case ErrorCode::internal:
  case ErrorCode::device:
  case ErrorCode::out_of_memory:
    return exit_fault;
  default:
    return exit_bad_input;
  }
}

/// Runs the work; turns an exception into a message and an exit code.
int carry_out(const Action& action) {
  try {
    const int code = action();
    flush_out();
    return code;
  } catch (const Error& error) {
    if (reader_gone()) return exit_unread; // A closed pipe ends the command silently, as SIGPIPE would.
    if (interrupted()) return complain("interrupted", exit_interrupted);
    return complain(error.message(), exit_code(error.code()));
  } catch (const std::bad_alloc&) {
    return complain("memory was refused by the system", exit_fault);
  } catch (const std::exception& error) {
    return complain(fmt::format("unexpected: {}", error.what()), exit_fault);
  }
}

void add_commands(Command program, Action& action) {
  for (const auto add :
       {add_run, add_probe, add_decode, add_transcode, add_build, add_bench, add_eval, add_calibrate,
        add_convert, add_tf, add_explain, add_verify, add_doctor, add_completion, add_manual})
    add(program, action);
}

int main(int count, char** arguments) {
  CLI::App app("Video and trained models in, answers and video out.", "lanner");
  set_help(app);
  app.set_help_all_flag("--help-all", "Print help with every option and exit");
  app.footer(footer);
  app.set_version_flag("--version", fmt::format("lanner {}", version()));
  app.require_subcommand(1);
  Action action;
  add_commands(Command(&app), action);
  std::vector<std::string> words = with_long_names(count, arguments);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& request) {
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    if (count < 2) return app.exit(CLI::CallForHelp());
    return complain(usage_error(app, error), exit_bad_input);
  }
  std::signal(SIGPIPE,
              SIG_IGN); // A closed reader becomes an error of write(), after which files are cleaned up.
  tell_of_faults();
  show_log();
  interrupt_token();
  return carry_out(action);
}

} // namespace
} // namespace lanner::tool

int main(int count, char** arguments) {
  return lanner::tool::main(count, arguments);
}
