#include "tactics/settings.h"

#include <CLI/CLI.hpp>

#include <lanner/error.h>

#include "backends/backends.h"
#include "base/check.h"
#include "device/cpu.h"

namespace lanner::sweep {
namespace {

struct Texts {
  std::string device = "cpu", share = "0/1";
  std::vector<std::string> sizes;
  bool all = false;
};

std::int64_t whole_number(const std::string& text, const std::string& what) {
  const bool digits = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
  check(digits, ErrorCode::invalid_argument, "{}: expected a whole number, got '{}'", what, text);
  return std::stoll(text);
}

void read_share(const std::string& text, Settings& settings) {
  const std::size_t slash = text.find('/');
  check(slash != text.npos, ErrorCode::invalid_argument, "--share '{}': expected I/N, as 0/4", text);
  settings.share = static_cast<std::size_t>(whole_number(text.substr(0, slash), "--share"));
  settings.shares = static_cast<std::size_t>(whole_number(text.substr(slash + 1), "--share"));
  check(settings.share < settings.shares, ErrorCode::invalid_argument,
        "--share '{}': expected I/N with I below N, as 0/4", text);
}

void read_size(const std::string& text, Settings& settings) {
  const std::size_t equals = text.find('=');
  check(equals != text.npos && equals > 0, ErrorCode::invalid_argument,
        "--size '{}': expected NAME=NUMBER, as sequence=128", text);
  settings.sizes[text.substr(0, equals)] = whole_number(text.substr(equals + 1), "--size");
}

void check_values(const Settings& settings) {
  check(!settings.networks.empty(), ErrorCode::invalid_argument, "--nets: expected paths of models");
  for (const std::int64_t batch : settings.batches)
    check(batch > 0, ErrorCode::invalid_argument, "--batches: {}: expected numbers above 0", batch);
  for (const std::string& precision : settings.precisions) static_cast<void>(target_of({}, precision));
  check(settings.runs > 0, ErrorCode::invalid_argument, "--runs is {}: expected 1 or more", settings.runs);
  check(settings.timeout > 0, ErrorCode::invalid_argument, "--timeout is {}: expected seconds above 0",
        settings.timeout);
}

} // namespace

Target target_of(const Settings& settings, const std::string& precision) {
  Target target;
  target.device = settings.device;
  target.threads = settings.threads > 0 ? settings.threads : usable_cores();
  if (precision != "fp32") {
    check(precision == "fp16" || precision == "bf16", ErrorCode::invalid_argument,
          "--precision '{}': expected fp32, fp16 or bf16, comma separated", precision);
    target.precision.types.insert(parse_precision_type(precision));
  }
  target.isa = isa_of(settings.device);
  target.host_isa = isa_of({});
  return target;
}

int read_arguments(int count, const char* const* arguments, Settings& settings) {
  CLI::App app("Runs every tactic that backends offer for the problems of networks against the definition.",
               "lanner_sweep");
  Texts texts;
  app.add_option("--device", texts.device, "cpu or cuda:0");
  app.add_option("--nets", settings.networks, "models, comma separated")->delimiter(',');
  app.add_option("--batches", settings.batches, "sizes of the batch (default: 1,2,3,8,32,128)")
      ->delimiter(',');
  app.add_option("--precision", settings.precisions, "fp32 (default), fp16, bf16, comma separated")
      ->delimiter(',');
  app.add_option("--size", texts.sizes, "size of another open dim: NAME=NUMBER");
  app.add_option("--log", settings.log, "JSON lines; what it holds is not tried again");
  app.add_option("--seconds", settings.seconds, "begin nothing after so long")->take_last();
  app.add_option("--timeout", settings.timeout, "seconds that one tactic may take (default: 300)");
  app.add_option("--runs", settings.runs, "of each tactic (default: 10)");
  app.add_option("--threads", settings.threads, "of kernels (default: the machine's cores)");
  app.add_option("--share", texts.share, "I/N: every Nth problem from the Ith (0 is the first) on");
  app.add_option("--budget", settings.budget, "seconds of a build's timing with --chosen (default: 10)");
  CLI::Option* all = app.add_flag("--all", texts.all, "every tactic that is offered (the default)");
  app.add_flag("--chosen", settings.chosen, "what a build takes and its runner-up")->excludes(all);
  app.add_flag("--worker", settings.worker)->group("");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  settings.device = Device::parse(texts.device);
  read_share(texts.share, settings);
  for (const std::string& size : texts.sizes) read_size(size, settings);
  check_values(settings);
  return -1;
}

} // namespace lanner::sweep
