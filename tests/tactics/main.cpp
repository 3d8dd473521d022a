// lanner_sweep: compares every tactic that backends offer for the problems of networks with the definition.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include <lanner/error.h>

#include "tactics/settings.h"
#include "tactics/supervisor.h"
#include "tactics/worker.h"

namespace lanner::sweep {
namespace {

int sweep(int count, char** arguments) {
  Settings settings;
  if (const int code = read_arguments(count, arguments, settings); code >= 0) return code == 0 ? 0 : refused;
  if (settings.worker) return work(settings);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto command = [&](double seconds_left) {
    std::vector<std::string> words{self};
    words.insert(words.end(), arguments + 1, arguments + count);
    words.insert(words.end(), {"--worker", "--seconds", fmt::format("{}", std::max(0.0, seconds_left))});
    return words;
  };
  const Sitting sitting = supervise({command, settings.log, settings.seconds, settings.timeout});
  fmt::print("{} right, {} wrong, {} untried; {}\n", sitting.right, sitting.wrong, sitting.untried,
             sitting.complete          ? "nothing is left"
             : sitting.failure.empty() ? "the time is up, run it again to go on"
                                       : "stopped: " + sitting.failure);
  if (!sitting.failure.empty()) return refused;
  return sitting.wrong > 0 ? 1 : 0;
}

} // namespace
} // namespace lanner::sweep

int main(int count, char** arguments) {
  try {
    return lanner::sweep::sweep(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "lanner_sweep: {}\n", error.what());
    return lanner::sweep::refused;
  }
}
