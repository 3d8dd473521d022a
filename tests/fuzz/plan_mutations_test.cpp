// Plans from real builds, randomly changed in ways that keep most of them meaningful, then loaded and run:
// each gives an Error about the plan, or an engine.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fuzz/plan_mutation.h"
#include "fuzz/targets.h"
#include "source_dir.h"

namespace lanner::fuzz {
namespace {

/// The corpus, in an order that does not depend on the file system.
std::vector<std::string> seeds() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "tests/fuzz/corpus/plan"))
    if (entry.path().filename().string().starts_with("seed-")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

std::uint32_t number(const char* name, std::uint32_t otherwise) {
  const char* given = std::getenv(name);
  return given ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : otherwise;
}

/// LANNER_PLAN_MUTATIONS sets the number, LANNER_FIRST_PLAN_MUTATION the first one; a failure prints the
/// number.
TEST(PlanMutations, GiveAnErrorOrRun) {
  const std::uint32_t count = number("LANNER_PLAN_MUTATIONS", 1500),
                      first = number("LANNER_FIRST_PLAN_MUTATION", 0);
  const std::vector<std::string> plans = seeds();
  ASSERT_FALSE(plans.empty());
  const PlanCounts before = plan_counts();
  for (std::uint32_t i = first; i < first + count; ++i) {
    const std::string text = mutated_plan(plans[i % plans.size()], i);
    if (std::getenv("LANNER_PRINT_PLAN_MUTATIONS")) std::fprintf(stderr, "mutation %u\n", i);
    EXPECT_NO_THROW(run("plan", std::as_bytes(std::span(text)))) << "mutation " << i << " is\n" << text;
  }
  const PlanCounts& counts = plan_counts();
  const auto parsed = counts.parsed - before.parsed;
  fmt::print("{} plans: {} pass the digest and parse, {} load, {} ran\n", count, parsed,
             counts.loaded - before.loaded, counts.ran - before.ran);
  EXPECT_GE(parsed * 2, count);
}

} // namespace
} // namespace lanner::fuzz
