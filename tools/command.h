#pragma once
// What the subcommands of `lanner` share: a way to add one, to stop it and to talk to its user.

#include <functional>
#include <memory>
#include <utility>

#include <lanner/cancel.h>

#include "options/command_line.h"

namespace lanner::tool {

/// The chosen subcommand's work; returns the exit code. Set while the command line is read, called
/// afterwards.
using Action = std::function<int()>;

void add_doctor(Command& program, Action& action);
void add_probe(Command& program, Action& action);
void add_run(Command& program, Action& action);
void add_build(Command& program, Action& action);
void add_bench(Command& program, Action& action);
void add_explain(Command& program, Action& action);
void add_decode(Command& program, Action& action);
void add_transcode(Command& program, Action& action);
void add_verify(Command& program, Action& action);
void add_eval(Command& program, Action& action);
void add_calibrate(Command& program, Action& action);
void add_convert(Command& program, Action& action);
void add_tf(Command& program, Action& action);
void add_completion(Command& program, Action& action);
void add_manual(Command& program, Action& action);

/// Adds a subcommand with an `Options` of its own; its work is `run(options)`.
template<typename Options, typename Run>
std::pair<Command, std::shared_ptr<Options>> make_command(Command& program, Action& action, const char* name,
                                                          const char* description, Run run) {
  auto options = std::make_shared<Options>();
  Command command = program.add_command(name, description);
  command.callback([options, &action, run] { action = [options, run] { return run(*options); }; });
  return {command, options};
}

} // namespace lanner::tool
