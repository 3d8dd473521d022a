// lanner verify: whether a plan is whole.

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "command.h"
#include "console.h"
#include "interrupt.h"
#include "limit_option.h"
#include "media.h"

namespace lanner::tool {
namespace {

struct VerifyOptions {
  std::string plan;
};

int run_verify(const VerifyOptions& options) {
  check(kind_of(options.plan) == FileKind::plan, ErrorCode::bad_data,
        "{}: is no plan; expected what lanner build writes", options.plan);
  LoadOptions load;
  load.control.cancel = interrupt_token();
  load.limits = given_limits();
  const Engine engine = Engine::load(std::filesystem::path(options.plan), load);
  print_text(fmt::format("{}: whole; {} inputs, {} outputs\n", one_line(options.plan), engine.inputs().size(),
                         engine.outputs().size()));
  return 0;
}

} // namespace

CLI::App* add_verify(CLI::App& app, Action& action) {
  auto [command, options] = make_command<VerifyOptions>(
      app, action, "verify", "Whether a plan is whole: every byte is checked.", run_verify);
  command->add_option("plan", options->plan, "What lanner build wrote")->required();
  add_limit_option(*command);
  command->footer("Exit code 2 and a line that says what is wrong where it is not.\n\nExamples:\n  lanner "
                  "verify model.plan");
  return command;
}

} // namespace lanner::tool
