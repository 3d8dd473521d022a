// lanner_hostile_operators: builds and runs every operator with wrong types, shapes, counts and attributes.
// See docs/HACKING.md.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "hostile_operators/driver.h"
#include "ops/table/table.h"
#include "source_dir.h"

namespace lanner::hostile {
namespace {

constexpr const char* usage =
    "lanner_hostile_operators [OPTIONS]\n\n"
    "  --every N      only every N-th case; unmodified seeds are always run\n"
    "  --mixed N      random combinations of two to four changes, for each seed (default 100)\n"
    "  --seed N       random seed of these combinations (default 1)\n"
    "  --first N, --last N    range of case numbers, the last one exclusive\n"
    "  --op NAME      only this operator\n"
    "  --case N       only this case, in this process, printing its graph\n"
    "  --hang SECONDS time limit of a case (default 60)\n";

struct Settings {
  DriverOptions driver;
  std::size_t mixed = 100;
  std::uint64_t seed = 1;
  std::string op;
  std::size_t one = SIZE_MAX;
};

Settings read_arguments(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (++i == count) throw std::runtime_error(fmt::format("{} needs a value\n\n{}", name, usage));
    const std::string value = arguments[i];
    if (name == "--op")
      settings.op = value;
    else if (name == "--hang")
      settings.driver.hang_seconds = std::stod(value);
    else if (name == "--every")
      settings.driver.every = std::max(1ul, std::stoul(value));
    else if (name == "--mixed")
      settings.mixed = std::stoul(value);
    else if (name == "--seed")
      settings.seed = std::stoul(value);
    else if (name == "--first")
      settings.driver.first = std::stoul(value);
    else if (name == "--last")
      settings.driver.last = std::stoul(value);
    else if (name == "--case")
      settings.one = std::stoul(value);
    else
      throw std::runtime_error(fmt::format("unknown option {}\n\n{}", name, usage));
  }
  return settings;
}

/// The table with one operator only.
OpTable only(const std::string& name) {
  OpTable table;
  table.add(builtin_op_table().get(name));
  return table;
}

int run(int count, char** arguments) {
  const Settings settings = read_arguments(count, arguments);
  std::vector<Seed> seeds = read_seeds(test::source_dir() / "tests/hostile_operators/seeds.txt");
  if (!settings.op.empty()) std::erase_if(seeds, [&](const Seed& seed) { return seed.op != settings.op; });
  const Cases cases(std::move(seeds), settings.op.empty() ? builtin_op_table() : only(settings.op),
                    settings.mixed, settings.seed);
  if (settings.one != SIZE_MAX) {
    const Case made = cases.at(settings.one);
    fmt::print("{}\n{}", made.name, graph_text(made.seed));
    std::fflush(stdout);
    const Outcome outcome = run_case(made.seed, settings.one, made.untouched);
    fmt::print("{}: {}\n", to_string(outcome.end), outcome.message);
    return is_finding(outcome.end) ? 1 : 0;
  }
  fmt::print("{} operators, {} cases, seed {}\n", cases.operators(), cases.count(), settings.seed);
  const Summary summary = drive(cases, settings.driver);
  fmt::print("{}\n", summary.text());
  return summary.findings() == 0 ? 0 : 1;
}

} // namespace
} // namespace lanner::hostile

int main(int count, char** arguments) {
  try {
    return lanner::hostile::run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "lanner_hostile_operators: {}\n", error.what());
    return 2;
  }
}
