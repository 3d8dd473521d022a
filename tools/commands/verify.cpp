// lanner verify: checks each node of a network against its definition, and whether a plan is undamaged.

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/tensor_file.h>

#include "check.h"
#include "command.h"
#include "input/media.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

constexpr double default_budget = 10;

struct VerifyCommandOptions {
  EngineOptions engine;
  GivenOptions tried; ///< Of the table of verifications.
  std::string inputs;
  bool file_only = false, json = false;
};

int verify_file(const VerifyCommandOptions& options) {
  const std::string& plan = options.engine.model;
  check(kind_of(plan) == FileKind::plan, ErrorCode::bad_data,
        "{}: is not a plan; expected a file of lanner build", plan);
  check(!options.tried.has("reproducer") && options.inputs.empty() && !options.json,
        ErrorCode::invalid_argument, "--file-only runs nothing; leave out -o, --inputs and --json");
  LoadOptions load;
  load.control.cancel = interrupt_token();
  load.limits = given_limits();
  const Engine engine = Engine::load(std::filesystem::path(plan), load);
  print_text(fmt::format("{}: complete; {} inputs, {} outputs\n", one_line(plan), engine.inputs().size(),
                         engine.outputs().size()));
  return 0;
}

Json verification_json(const VerifyCommandOptions& options, const VerifyOptions& tried,
                       const Verification& found) {
  Json json{{"file", options.engine.model},
            {"right", found.right()},
            {"nodes", found.nodes},
            {"defined", found.defined},
            {"skipped", found.skipped},
            {"runs", tried.runs},
            {"contexts", tried.contexts},
            {"differences", Json::array()},
            {"network", found.network},
            {"undecided", found.undecided},
            {"reproducer", found.reproducer.string()}};
  for (const auto& [input, shape] : found.shapes) json["shapes"][input] = shape.dims();
  for (const NodeDifference& node : found.differences)
    json["differences"].push_back({{"name", node.name},
                                   {"op", node.op},
                                   {"kernel", node.kernel},
                                   {"backend", node.backend},
                                   {"sources", node.sources},
                                   {"reason", node.reason}});
  return json;
}

std::string count(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string right_text(const VerifyOptions& tried, const Verification& found) {
  const std::string skipped = found.skipped > 0 ? fmt::format(", {} not compared", found.skipped) : "";
  const std::string plain =
      found.defined > 0 ? fmt::format(", {} need no check (views, or run by their definition)", found.defined)
                        : "";
  return fmt::format("{} right{}{}; {} x {} alike\n", count(found.nodes, "node"), plain, skipped,
                     count(static_cast<std::size_t>(tried.contexts), "context"),
                     count(static_cast<std::size_t>(tried.runs), "run")) +
         (found.undecided.empty()
              ? std::string()
              : fmt::format("not compared with the portable IR, as rounding or chance "
                            "decides: {}\n",
                            one_line(fmt::format("{}", fmt::join(found.undecided, ", ")))));
}

std::string wrong_text(const Verification& found) {
  if (found.differences.empty()) return "the network as a whole: " + found.network;
  const NodeDifference& first = found.differences.front();
  const std::string sources =
      first.sources.empty() ? "" : fmt::format(" of {}", fmt::join(first.sources, ", "));
  const std::string others =
      found.differences.size() > 1
          ? fmt::format("; so {} after it", found.differences.size() == 2
                                                ? "does 1 node"
                                                : fmt::format("do {} nodes", found.differences.size() - 1))
          : "";
  const std::string written =
      found.reproducer.empty() ? "" : fmt::format("; written to {}", found.reproducer.string());
  return fmt::format("node {} ({}{}) by {}:{} differs: {}{}{}", first.name, first.op, sources, first.backend,
                     first.kernel, first.reason, others, written);
}

/// File for the inputs of a reproducer's node.
std::string operands_of(const std::string& reproducer) {
  return std::filesystem::path(reproducer).replace_extension(".inputs.safetensors").string();
}

/// Errors name the file, as the engine knows only its graph's name.
Verification verified(const Engine& engine, const std::string& file, VerifyOptions options) {
  ProgressBar bar("verify");
  options.control = {interrupt_token(), bar.callback()};
  try {
    return engine.verify(options);
  } catch (const Error& error) {
    const std::string named = fmt::format("verify {}: ", engine.name());
    const bool begins = error.message().starts_with(named);
    throw Error(error.code(),
                fmt::format("verify {}: {}", file, error.message().substr(begins ? named.size() : 0)));
  }
}

int verify_network(const VerifyCommandOptions& options) {
  Files files;
  files.reads("--inputs", options.inputs);
  const std::string output = options.tried.text("reproducer");
  files.writes("-o", output);
  if (!output.empty()) files.writes("-o, for the node's inputs,", operands_of(output));
  EngineOptions from = options.engine;
  VerifyOptions verify;
  options.tried.apply(verify, verify_option_table());
  if (kind_of(from.model) == FileKind::plan) verify.shapes = take_plan_shapes(from);
  if (!options.inputs.empty())
    for (const auto& [name, tensor] : load_tensors(options.inputs, given_limits()))
      verify.inputs[name] = Item(tensor);
  ModelFacts facts = inspect(from, files);
  const Engine engine = open_engine(facts, from, build_options(from, default_budget), 1);
  for (const auto& [input, value] : verify.inputs)
    if (value.tensor.defined()) verify.shapes.emplace(input, value.tensor.shape());
  if (engine.open_sizes()) verify.shapes = settled_shapes(engine, verify.shapes);
  if (!facts.plan) prepare_open(engine, verify.shapes);
  const Verification found = verified(engine, from.model, verify);
  if (options.json) {
    print_json(verification_json(options, verify, found));
    return found.right() ? 0 : 2;
  }
  check(found.right(), ErrorCode::bad_data, "{}: {}", from.model, wrong_text(found));
  print_text(right_text(verify, found));
  return 0;
}

int run_verify(const VerifyCommandOptions& options) {
  return options.file_only ? verify_file(options) : verify_network(options);
}

} // namespace

void add_verify(Command& program, Action& action) {
  auto [command, options] = make_command<VerifyCommandOptions>(
      program, action, "verify",
      "Check that every kernel of a model or plan computes what its operator's definition says.", run_verify);
  command.add_option("file", options->engine.model, "A model or a plan").required();
  command.add_flag("--file-only", options->file_only,
                   "Only check that a plan is complete and undamaged, byte by byte; nothing runs");
  command.add_option("--inputs", options->inputs,
                     "safetensors file of values by input name; other inputs are random");
  OptionRows(command, options->tried).add(verify_option_table(), {"runs", "contexts", "seed", "reproducer"});
  command.add_flag("--json", options->json, "As one JSON object");
  add_engine_options(command, options->engine);
  command.layout("What is checked", {"--file-only", "--runs", "--contexts", "--inputs", "-o", "--json",
                                     "--shape", "--precision", "--device", "--threads"});
  command.footer(
      "Each node's kernel runs on the inputs that the interpreter computed for it; then the network runs in "
      "several "
      "contexts at once. Where something differs, a line says what and the exit code is 2.\n\nExamples:\n"
      "  lanner verify model.plan\n  lanner verify model.onnx --precision fp16 --device cuda:0 -o "
      "wrong.onnx\n"
      "  lanner verify wrong.onnx --inputs wrong.inputs.safetensors --precision fp16 --device cuda:0\n"
      "  lanner verify model.plan --shape input:8x3x224x224 --runs 100 --contexts 4\n"
      "  lanner verify model.plan --file-only");
}

} // namespace lanner::tool
