#pragma once
// Settings of a sweep over tactics.

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
      sizes; ///< Sizes of open dims other than the batch, by the model's name.
  std::filesystem::path log = "tactics.jsonl";
  bool chosen = false; ///< Test the tactic that a build chooses and its runner-up, instead of all.
  double budget = 10;  ///< Tuning budget of such a build in seconds.
  double seconds = std::numeric_limits<double>::infinity(); ///< After which nothing new starts.
  double timeout = 300;                                     ///< Time limit of one tactic in seconds.
  int runs = 10;
  int threads = 0;                   ///< 0: the machine's cores.
  std::size_t share = 0, shares = 1; ///< Every `shares`th problem from number `share` on.
  bool worker = false;               ///< Worker of the process that started it.
};

/// Target of a build with these settings; `precision` is a name of --precision.
Target target_of(const Settings& settings, const std::string& precision);

/// Reads the command line. Returns the exit code where that ends the program, else -1. Throws
/// Error{invalid_argument} for invalid values.
int read_arguments(int count, const char* const* arguments, Settings& settings);

} // namespace lanner::sweep
