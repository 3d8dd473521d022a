// Options of loads, contexts and verifications.

#include <lanner/doctor.h>

#include "options/common_rows.h"

namespace lanner {
namespace {

using C = lanner_load_options;

constexpr std::string_view by_commands = "subcommands create the contexts that they need";

OptionRow<LoadOptions> device_row() {
  return row<std::string, LoadOptions>(
      {.name = "device",
       .help = "device to run on, if not the plan's; the plan is then tuned again",
       .example = "cuda:0",
       .flag = "--device",
       .metavar = "NAME",
       .choices = {"auto", "cpu", "cuda:0"},
       .other_words = true,
       .second_network = true,
       .no_field = "the C interface runs a plan on the device that it was built for"},
      [](const LoadOptions& options) {
        return options.device ? std::optional(options.device->to_string()) : std::nullopt;
      },
      [](LoadOptions& options, const std::string& name) {
        options.device = name == "auto" ? automatic_device() : Device::parse(name);
      });
}

OptionRow<LoadOptions> weights_row() {
  return row<OptionSource, LoadOptions>(
      {.name = "weights",
       .help =
           "for a plan that was saved without weights: the model, a safetensors file or a plan that has them",
       .flag = "--weights",
       .metavar = "FILE"},
      [](const LoadOptions& options) {
        return OptionSource{options.weights, options.weights_folder};
      },
      [](LoadOptions& options, const OptionSource& given) {
        options.weights = given.source;
        options.weights_folder = given.folder;
      },
      source_field("weights", &C::weights));
}

/// Shapes of the runs: the opt of a range.
NamedShapes run_shapes(const VerifyOptions& options) {
  NamedShapes shapes;
  for (const auto& [input, shape] : options.shapes) shapes[input] = ShapeRange::fixed(shape);
  return shapes;
}

} // namespace

const OptionTable<LoadOptions>& load_option_table() {
  static const OptionTable<LoadOptions> table{
      row({.name = "threads",
           .help = "threads of each context",
           .unset = "the number that the plan was built for, at most the cores of this machine",
           .flag = "--threads",
           .most = 4096,
           .second_network = true},
          &LoadOptions::threads, field("threads", &C::threads)),
      device_row(),
      weights_row(),
      weight_budget_row<LoadOptions>(),
      tune_at_run_row<LoadOptions>(false),
      row({.name = "verify",
           .help = "reject a plan whose results differ from those of its portable IR",
           .details = "each of its variants is run on random inputs; a plan's digest is not a signature",
           .flag = "--verify",
           .use = OptionUse::plans,
           .second_network = true},
          &LoadOptions::verify, flag_field("verify", &C::verify)),
      limits_row<LoadOptions>(),
      environment_row<LoadOptions>(),
  };
  return table;
}

const OptionTable<VerifyOptions>& verify_option_table() {
  using V = lanner_verify_options;
  static const OptionTable<VerifyOptions> table{
      row<NamedShapes, VerifyOptions>(
          {.name = "shapes",
           .help = "input shapes to verify at",
           .details = "other inputs have their tuned shapes, else shapes that the model accepts",
           .example = "x:1x3x224x224",
           .flag = "--shape",
           .metavar = "INPUT:SHAPE"},
          run_shapes,
          [](VerifyOptions& options, const NamedShapes& shapes) {
            for (const auto& [input, range] : shapes) add_once(options.shapes, input, range.opt, "input");
          },
          shapes_field<V>()),
      row({.name = "seed", .help = "seed of the random inputs", .flag = "--seed", .kind = OptionKind::seed},
          &VerifyOptions::seed, field("seed", &V::seed)),
      row({.name = "runs",
           .help = "runs of each node, and of the network in each context",
           .flag = "--runs",
           .least = 1,
           .most = 1'000'000},
          &VerifyOptions::runs, field("runs", &V::runs)),
      row({.name = "contexts",
           .help = "contexts that run at the same time",
           .flag = "--contexts",
           .least = 1,
           .most = 256},
          &VerifyOptions::contexts, field("contexts", &V::contexts)),
      row({.name = "threads",
           .help = "threads of each context",
           .unset = "the engine's",
           .flag = "--threads",
           .most = 4096},
          &VerifyOptions::threads, field("threads", &V::threads)),
      row<std::string, VerifyOptions>(
          {.name = "reproducer",
           .help = "ONNX file to write the first node that differs to",
           .details = "its inputs go next to it, to NAME.inputs.safetensors",
           .example = "wrong.onnx",
           .flag = "--output",
           .short_flag = "-o",
           .metavar = "FILE",
           .kind = OptionKind::path},
          [](const VerifyOptions& options) { return options.reproducer.string(); },
          [](VerifyOptions& options, const std::string& path) { options.reproducer = path; },
          field("reproducer", &V::reproducer)),
      row({.name = "progress",
           .help = "called with (stage, done, total) while it runs",
           .details = "an exception, in C any result but 0, ends the call",
           .no_flag = "the command shows a bar"},
          &VerifyOptions::control, progress_field<V>()),
  };
  return table;
}

const OptionTable<ContextOptions>& context_option_table() {
  static const OptionTable<ContextOptions> table{
      row({.name = "threads", .help = "threads of its runs", .unset = "the engine's", .no_flag = by_commands},
          &ContextOptions::threads, field("threads", &lanner_context_options::threads)),
      row({.name = "profile",
           .help = "measure the time of each step, for Context.profile()",
           .no_flag = "`lanner bench --profile` shows the times",
           .no_field = "the C interface has no profiles"},
          &ContextOptions::profile),
      row({.name = "keep_results",
           .help = "leave the results of an engine on a GPU in GPU memory, for code that reads them there",
           .details = "as lanner.tasks.TaskReader does",
           .no_flag = by_commands,
           .no_field = "lanner_context_bind_output() determines the memory of a result"},
          &ContextOptions::keep_results),
  };
  return table;
}

} // namespace lanner
