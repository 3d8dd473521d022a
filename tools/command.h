#pragma once
// What the subcommands of `lanner` share: a way to add one, to stop it and to talk to its user.

#include <functional>
#include <memory>

#include <CLI/CLI.hpp>

#include <lanner/cancel.h>

namespace lanner::tool {

/// Work of the subcommand that was given; its return is the exit code. Set while the command line is read,
/// called after.
using Action = std::function<int()>;

CLI::App* add_doctor(CLI::App& app, Action& action);
CLI::App* add_probe(CLI::App& app, Action& action);
CLI::App* add_run(CLI::App& app, Action& action);
CLI::App* add_build(CLI::App& app, Action& action);
CLI::App* add_bench(CLI::App& app, Action& action);
CLI::App* add_explain(CLI::App& app, Action& action);
CLI::App* add_decode(CLI::App& app, Action& action);
CLI::App* add_transcode(CLI::App& app, Action& action);
CLI::App* add_verify(CLI::App& app, Action& action);
CLI::App* add_eval(CLI::App& app, Action& action);

/// Makes a subcommand whose options live in an `Options` of their own and whose work is `run(options)`.
template<typename Options, typename Run>
std::pair<CLI::App*, std::shared_ptr<Options>> make_command(CLI::App& app, Action& action, const char* name,
                                                            const char* description, Run run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, description);
  command->callback([options, &action, run] { action = [options, run] { return run(*options); }; });
  return {command, options};
}

} // namespace lanner::tool
