// Limits of an environment: for each engine, and for all of them together.

#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/environment_state.h"
#include "engine/two_products.h"
#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using test::answer;
using test::built;
using test::expected;
using test::ramp;
using test::two_products;
using test::width;
using test::with;

constexpr std::uint64_t kibibyte = 1024;

Environment bounded(std::uint64_t bytes) {
  Environment environment;
  Limits limits;
  limits.total_bytes = bytes;
  environment.set_limits(limits);
  return environment;
}

/// An engine holds 200 to 400 KiB, and less than 300 more during the build: its kernels depend on earlier
/// timings.
constexpr std::uint64_t a_few_engines = 3000 * kibibyte;

TEST(EnvironmentLimits, TotalAdmitsSomeEnginesAndRejectsOneMore) {
  const Environment environment = bounded(a_few_engines);
  std::vector<Engine> engines;
  const auto one_more = [&] { engines.push_back(built(two_products(), with(environment))); };
  one_more();
  const auto too_many = [&] {
    for (int i = 0; i < 20; ++i) one_more();
  };
  LANNER_EXPECT_ERROR(too_many(), ErrorCode::limit_exceeded, "all engines of the environment: memory: ");
  LANNER_EXPECT_ERROR(
      too_many(), ErrorCode::limit_exceeded,
      fmt::format("over the limit total_bytes of {}; if the input is trusted, raise it in the limits of the "
                  "environment",
                  a_few_engines));
  Context context = engines[0].create_context();
  engines.resize(1, engines[0]);
  EXPECT_EQ(answer(context), expected());
  one_more(); // the others' memory is free
}

TEST(EnvironmentLimits, TotalCountsMemoryOfContextsAndCallers) {
  const Environment environment = bounded(2048 * kibibyte);
  const Engine first = built(two_products(), with(environment));
  const Engine second = built(two_products(), with(environment));
  Context contexts[] = {first.create_context(), second.create_context()};
  std::vector<Item> kept;
  const auto keep = [&] { // 32 KiB each
    for (int i = 0; i < 100; ++i)
      for (Context& context : contexts) kept.push_back(context({{"x", ramp({64, width})}}).at("y"));
  };
  LANNER_EXPECT_ERROR(keep(), ErrorCode::limit_exceeded, "all engines of the environment");
  EXPECT_GT(kept.size(), 10U);
  EXPECT_LT(kept.size(), 64U);
  kept.clear();
  for (Context& context : contexts) EXPECT_EQ(answer(context), expected());
}

TEST(EnvironmentLimits, RaisedTotalCountsExistingMemory) {
  Environment environment = bounded(a_few_engines);
  std::vector<Engine> engines;
  const auto fill = [&] {
    for (int i = 0; i < 100; ++i) engines.push_back(built(two_products(), with(environment)));
  };
  EXPECT_THROW(fill(), Error);
  const std::size_t before = engines.size();
  Limits limits;
  limits.total_bytes = a_few_engines + 1;
  environment.set_limits(limits);
  EXPECT_THROW(fill(), Error);
  EXPECT_LE(engines.size(), before + 1); // a build that is short of memory may leave out a check
  limits.total_bytes = 3 * a_few_engines;
  environment.set_limits(limits);
  EXPECT_THROW(fill(), Error);
  EXPECT_GT(engines.size(), before + 1);
}

TEST(EnvironmentLimits, BoundTheLimitsOfOptions) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.onnx", std::ios::binary) << two_products();
  Environment environment;
  Limits limits;
  limits.file_bytes = 1000;
  environment.set_limits(limits);
  const std::string refused =
      "over the limit file_bytes of 1000; if the input is trusted, raise it in the limits of the environment";
  LANNER_EXPECT_ERROR(Engine::build(folder / "a.onnx", with(environment)), ErrorCode::limit_exceeded,
                      refused);
  LANNER_EXPECT_ERROR(built(two_products(), with(environment)), ErrorCode::limit_exceeded, refused);
  BuildOptions lower = with(environment);
  lower.limits.file_bytes = 500; // the tighter one counts, and is the one to raise
  LANNER_EXPECT_ERROR(Engine::build(folder / "a.onnx", lower), ErrorCode::limit_exceeded,
                      "file_bytes of 500; if the input is trusted, raise it with --limit file_bytes=N");
  built(two_products(), with({})).save(folder / "a.plan");
  LoadOptions load;
  load.environment = environment;
  LANNER_EXPECT_ERROR(Engine::load(folder / "a.plan", load), ErrorCode::limit_exceeded, refused);
}

TEST(EnvironmentLimits, StricterLimitCountsAndDefaultsHaveNoEffect) {
  Environment environment;
  Limits given;
  given.rank = 100;
  given.seconds = 9;
  environment.set_limits({});
  EXPECT_EQ(environment.state().within(given).rank, 100U);
  Limits bounds;
  bounds.rank = 10;
  bounds.nodes = 1000;
  bounds.seconds = 5;
  environment.set_limits(bounds);
  EXPECT_EQ(environment.state().within(given).rank, 10U);
  EXPECT_EQ(environment.state().within(given).nodes, 1000U);
  EXPECT_EQ(environment.state().within(given).seconds, 5);
  given.nodes = 20;
  given.seconds = 0; // none
  EXPECT_EQ(environment.state().within(given).nodes, 20U);
  EXPECT_EQ(environment.state().within(given).seconds, 5);
}

} // namespace
} // namespace lanner
