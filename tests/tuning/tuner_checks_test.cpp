// Time bounds of checks, and what is used when they run out.

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "backends/backends.h"
#include "lower/measure/tuner.h"
#include "lowering/tuner_bench.h"

namespace lanner::test {
namespace {

constexpr const char* chain = "graph @g(%x: f32[2, 3]) -> (%y) {\n"
                              "  %y = relu(%x)\n"
                              "}\n";
constexpr const char* table = "// relu as one: row -> row = 7\n"
                              "// relu as bad: row -> row = 9, fault wrong value\n";

TEST(TunerChecks, ReportsItsChecks) {
  TunerBench bench(chain, "fast", table);
  Tuner tuner(bench.target, 0, bench.cache, bench.constants, bench.control);
  EXPECT_EQ(tuner.checks().kernels, 0);
  tuner.vet(bench.node(), bench.backend, bench.tactic("one"));
  tuner.vet(bench.node(), bench.backend, bench.tactic("bad"));
  tuner.vet(bench.node(), bench.backend, bench.tactic("one"));
  EXPECT_EQ(tuner.checks().kernels, 2);
  EXPECT_EQ(tuner.checks().missed, 0);
  EXPECT_GT(tuner.checks().seconds, 0);
}

// Unchecked kernels are used only if trusted, which those of a table are not.
TEST(TunerChecks, RejectsUncheckedKernelsWithoutTime) {
  TunerBench bench(chain, "fast", table);
  Tuner tuner(bench.target, 0, bench.cache, bench.constants, bench.control);
  tuner.set_vetting(0);
  EXPECT_EQ(bench.launches([&] {
    const Cost cost = tuner.vet(bench.node(), bench.backend, bench.tactic("one"));
    EXPECT_EQ(cost.trust, Trust::none);
    EXPECT_NE(cost.wrong.find("no time to check it"), std::string::npos) << cost.wrong;
  }),
            0);
  EXPECT_EQ(tuner.checks().missed, 1);
  EXPECT_EQ(bench.vet("one").trust, Trust::checked); // it is not remembered as wrong
}

TEST(TunerChecks, AcceptsTrustedKernelsWithoutTime) {
  TunerBench bench(chain, "fast", table);
  Tuner tuner(bench.target, 0, bench.cache, bench.constants, bench.control);
  tuner.set_vetting(0);
  const auto backends = backends_for(bench.target, {});
  const auto own = std::ranges::find(backends, "cpu", &Backend::name);
  ASSERT_NE(own, backends.end());
  const TacticList offered = (*own)->tactics(bench.node(), bench.target);
  ASSERT_FALSE(offered.tactics.empty());
  EXPECT_EQ(tuner.vet(bench.node(), **own, offered.tactics[0]).trust, Trust::trusted);
  EXPECT_EQ(tuner.checks().missed, 1);
}

std::vector<Cost> costs_of(Tuner& tuner, TunerBench& bench, std::span<const Tactic> tactics) {
  std::vector<Candidate> candidates;
  for (const Tactic& tactic : tactics) candidates.push_back({&bench.backend, &tactic});
  return tuner.costs(bench.node(), candidates, {.until = 1e9});
}

// A check costs as much of the budget as timing does, and few of the timed kernels are chosen.
TEST(TunerChecks, TrustedKernelsOfACpuAreTimedAndThenCheckedWhereChosen) {
  TunerBench bench(chain, "cpu", table);
  Tuner tuner(bench.target, 1e9, bench.cache, bench.constants, bench.control);
  const std::array<Tactic, 2> tactics{bench.tactic("one"), bench.tactic("bad")};
  for (const Cost& cost : costs_of(tuner, bench, tactics)) {
    EXPECT_TRUE(cost.measured);
    EXPECT_EQ(cost.trust, Trust::none);
    EXPECT_EQ(cost.wrong, "");
  }
  EXPECT_EQ(tuner.checks().kernels, 0);
  EXPECT_EQ(tuner.vet(bench.node(), bench.backend, tactics[0]).trust, Trust::checked);
  EXPECT_NE(tuner.vet(bench.node(), bench.backend, tactics[1]).wrong, "");
  EXPECT_EQ(tuner.checks().kernels, 2);
}

// The seconds for checks are those after the budget.
TEST(TunerChecks, ChecksWithinTheBudgetLeaveTheTimeBehindIt) {
  TunerBench bench(chain, "cpu", table);
  Tuner tuner(bench.target, 1e9, bench.cache, bench.constants, bench.control);
  tuner.set_vetting(1e-9);
  EXPECT_EQ(tuner.vet(bench.node(), bench.backend, bench.tactic("one")).trust, Trust::checked);
  EXPECT_NE(tuner.vet(bench.node(), bench.backend, bench.tactic("bad")).wrong, "");
  EXPECT_EQ(tuner.checks().missed, 0);
}

// its definition sums 1e8 products
TEST(TunerChecks, StopsACheckThatTakesTooLong) {
  TunerBench bench("graph @g(%x: f64[500, 500], %w: f64[500, 500]) -> (%y) {\n"
                   "  %y = matmul(%x, %w)\n"
                   "}\n",
                   "fast", "// matmul as one: row, row -> row = 1\n");
  Tuner tuner(bench.target, 0, bench.cache, bench.constants, bench.control);
  tuner.set_vetting(1e-6);
  EXPECT_NE(tuner.vet(bench.node(), bench.backend, bench.tactic("one")).wrong, "");
  EXPECT_EQ(tuner.checks().kernels, 0);
  EXPECT_EQ(bench.vet("one").trust, Trust::checked);
}

} // namespace
} // namespace lanner::test
