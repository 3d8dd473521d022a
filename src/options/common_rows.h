#pragma once
// Options that builds, loads and readers share.

#include "options/c_fields.h"
#include "options/rows.h"

namespace lanner {

template<typename Options>
OptionRow<Options> weight_budget_row() {
  return row(
      OptionInfo{.name = "weight_budget",
                 .help = "GPU memory that weights may take",
                 .details =
                     "others are copied from the host before the steps that read them; docs/weights.md",
                 .example = "512MiB",
                 .flag = "--weight-budget",
                 .torch_compile = true},
      &Options::weight_budget, field("weight_budget", &OptionsInC<Options>::type::weight_budget));
}

template<typename Options>
OptionRow<Options> tune_at_run_row(bool second_network) {
  return row(
      OptionInfo{.name = "tune_at_run",
                 .help = "time kernels for new sizes at their first run, up to the budget of the build",
                 .details = "not stored in plans; without it kernels for sizes that the build did not know "
                            "are chosen by estimates",
                 .flag = "--tune-at-run",
                 .use = OptionUse::new_shapes,
                 .second_network = second_network,
                 .torch_compile = true},
      &Options::tune_at_run, flag_field("tune_at_run", &OptionsInC<Options>::type::tune_at_run));
}

inline OptionInfo limits_info() {
  return {.name = "limits",
          .help = "limits on the resources that a file may use",
          .details = "docs/limits.md lists them",
          .example = "total_bytes=4GiB",
          .flag = "--limit",
          .metavar = "NAME=VALUE",
          .torch_compile = true};
}

template<typename Options>
OptionRow<Options> limits_row() {
  return row(limits_info(), &Options::limits, limits_field<typename OptionsInC<Options>::type>());
}

template<typename Options>
OptionRow<Options> environment_row() {
  return row(OptionInfo{.name = "environment",
                        .help = "operators of plug-ins, backends, log, threads and memory to use",
                        .details = "docs/environment.md",
                        .torch_compile = true,
                        .no_flag = "`--plugin` and `--backends` make one"},
             &Options::environment, environment_field<typename OptionsInC<Options>::type>());
}

} // namespace lanner
