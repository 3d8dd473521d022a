#pragma once
// What a sweep over tactics is asked for.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <lanner/device.h>

#include "graph/target.h"

namespace lanner::sweep {

struct Settings {
  Device device;
  std::vector<std::string> networks; ///< Paths of models.
  std::vector<std::int64_t> batches{1, 2, 3, 8, 32, 128};
  std::vector<std::string> precisions{"fp32"};
  std::map<std::string, std::int64_t>
      sizes; ///< Of open dims that are no batch, by the model's name for them.
  std::filesystem::path log = "tactics.jsonl";
  bool chosen = false; ///< What a build takes and its runner-up, instead of all.
  double budget = 10;  ///< Seconds that such a build may time kernels for.
  double seconds = std::numeric_limits<double>::infinity(); ///< After which nothing new is begun.
  double timeout = 300;                                     ///< Seconds that one tactic may take.
  int runs = 10;
  int threads = 0;                   ///< 0: the machine's cores.
  std::size_t share = 0, shares = 1; ///< Every `shares`th problem from number `share` on.
  bool worker = false;               ///< Does the work for the process that started it.
};

/// Target of a build with these settings; `precision` is a name of --precision.
Target target_of(const Settings& settings, const std::string& precision);

/// Reads the command line. Returns the exit code where that ends the program, else -1. Throws
/// Error{invalid_argument} for values that make no sense.
int read_arguments(int count, const char* const* arguments, Settings& settings);

} // namespace lanner::sweep
