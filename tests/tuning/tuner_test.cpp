#include "lower/measure/tuner.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/cpu.h"
#include "expect_error.h"
#include "file_content.h"
#include "graph/text/text.h"
#include "lower/check/trusted_kernels.h"
#include "lower/measure/timing_lock.h"
#include "lowering/fault_case.h"
#include "lowering/tuner_bench.h"
#include "ops/table/table.h"
#include "program/lowered/signature.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

constexpr double plenty = 1e6;
constexpr const char* chain = "graph @g(%x: f32[2, 3]) -> (%y) {\n"
                              "  %y = relu(%x)\n"
                              "}\n";
constexpr const char* table = "// relu as one: row -> row = 7\n"
                              "// relu as two: row -> row = 8\n"
                              "// relu as bad: row -> row = 9, fault wrong value\n"
                              "// relu as poor: row -> row = 9, fault lacks memory\n"
                              "// relu as found: row -> row = 9, later\n";

// --- Checks ---

class HostFaults : public FaultTest {};

TEST_P(HostFaults, AreFoundReportedAndContained) {
  expect_found();
}

INSTANTIATE_TEST_SUITE_P(Tuner, HostFaults, testing::ValuesIn(fault_cases({})), fault_name);

// The definition computes only the first few rows, which the others repeat.
TEST(Tuner, FindsAWrongElementInTheLastRowOfALargeBatch) {
  TunerBench bench("graph @g(%x: f32[201, 512]) -> (%y) {\n"
                   "  %w = constant() {value = random(f32[512, 1024], seed = 1, std = 0.1)}\n"
                   "  %y = matmul(%x, %w)\n"
                   "}\n",
                   "fast",
                   "// matmul as bad: row, row -> row = 1, fault wrong value\n"
                   "// matmul as good: row, row -> row = 1\n");
  EXPECT_NE(bench.vet("bad").wrong.find("1 of 205824 elements differ"), std::string::npos)
      << bench.vet("bad").wrong;
  EXPECT_EQ(bench.vet("good").trust, Trust::checked);
}

// --- Timing and cache ---

TEST(Tuner, ChecksAndMeasuresWithinTheBudget) {
  TunerBench bench(chain, "fast", table);
  const Cost cost = bench.cost("one", plenty);
  EXPECT_TRUE(cost.measured);
  EXPECT_EQ(cost.trust, Trust::checked);
  EXPECT_EQ(cost.wrong, "");
  EXPECT_GT(cost.seconds, 0);
  EXPECT_EQ(bench.cost("bad", plenty).trust, Trust::none);
  EXPECT_FALSE(bench.cost("bad", plenty).measured);
}

// A kernel's constants are out of the caches then, which takes other times.
TEST(Tuner, TimesAgainInANetworkWhoseConstantsTheCachesDoNotHold) {
  TunerBench bench("graph @g(%x: f32[2, 512]) -> (%y) {\n"
                   "  %w = constant() {value = random(f32[512, 1024], seed = 1, std = 0.1)}\n"
                   "  %y = matmul(%x, %w)\n"
                   "}\n",
                   "cpu", "// matmul as one: row, row -> row = 1\n");
  EXPECT_TRUE(bench.cost("one", plenty).measured);
  EXPECT_EQ(bench.launches([&] { bench.cost("one", plenty); }), 0);
  const auto elements = static_cast<std::int64_t>(
      cache_sizes().l2 * static_cast<std::uint64_t>(bench.target.threads) / sizeof(float) + 1);
  bench.constants.add(Recipe{"large", {}}, Tensor::zeros(DType::f32, {elements}));
  EXPECT_GT(bench.launches([&] { EXPECT_TRUE(bench.cost("one", plenty).measured); }), 0);
  EXPECT_EQ(bench.launches([&] { bench.cost("one", plenty); }), 0);
  EXPECT_EQ(bench.vet("one").wrong, "");
}

TEST(Tuner, AsksTheCacheBeforeItRunsAnything) {
  TunerBench bench(chain, "fast", table);
  const Cost first = bench.cost("one", plenty);
  EXPECT_EQ(bench.launches([&] {
    const Cost again = bench.cost("one", plenty);
    EXPECT_EQ(again.seconds, first.seconds);
    EXPECT_TRUE(again.measured);
    EXPECT_EQ(again.trust, Trust::checked);
    EXPECT_EQ(bench.vet("one").trust, Trust::checked);
  }),
            0);
}

TEST(Tuner, TimesCandidatesAgainstEachOther) {
  TunerBench bench(chain, "fast", table);
  Tuner tuner(bench.target, plenty, bench.cache, bench.constants, bench.control);
  const std::array<Tactic, 3> tactics{bench.tactic("one"), bench.tactic("bad"), bench.tactic("two")};
  std::vector<Candidate> candidates;
  for (const Tactic& tactic : tactics) candidates.push_back({&bench.backend, &tactic});
  const std::vector<Cost> costs = tuner.costs(bench.node(), candidates, {.until = plenty});
  ASSERT_EQ(costs.size(), 3u);
  for (const std::size_t right : {0, 2}) {
    EXPECT_TRUE(costs[right].measured);
    EXPECT_GT(costs[right].error, 0);
    EXPECT_EQ(costs[right].trust, Trust::checked);
  }
  EXPECT_FALSE(costs[1].measured);
  EXPECT_NE(costs[1].wrong, "");
  EXPECT_EQ(bench.launches([&] {
    const std::vector<Cost> known = tuner.costs(bench.node(), candidates, {.until = plenty});
    EXPECT_EQ(known[2].seconds, costs[2].seconds);
    EXPECT_EQ(known[2].error, costs[2].error);
  }),
            0);
}

TEST(Tuner, VetsWithoutABudgetWithoutMeasuring) {
  TunerBench bench(chain, "fast", table);
  EXPECT_EQ(bench.launches([&] {
    const Cost guess = bench.cost("one", 0);
    EXPECT_EQ(guess.seconds, 0.007);
    EXPECT_FALSE(guess.measured);
    EXPECT_EQ(guess.trust, Trust::none);
  }),
            0);
  const Cost vetted = bench.vet("one");
  EXPECT_EQ(vetted.trust, Trust::checked);
  EXPECT_FALSE(vetted.measured);
  EXPECT_EQ(vetted.seconds, 0.007);
  EXPECT_EQ(bench.launches([&] { EXPECT_EQ(bench.vet("one").trust, Trust::checked); }), 0);
}

TEST(Tuner, MeasuresACheckedKernelLater) {
  TunerBench bench(chain, "fast", table);
  bench.vet("one");
  EXPECT_GT(bench.launches([&] { EXPECT_TRUE(bench.cost("one", plenty).measured); }), 0);
}

TEST(Tuner, ConversionIsCheckedWhenItIsVetted) {
  TunerBench bench(chain, "fast", table);
  Tuner tuner(bench.target, plenty, bench.cache, bench.constants, bench.control);
  const Tactic bad = bench.tactic("bad");
  const Cost cost = tuner.cost(bench.node(), bench.backend, bad, 1e9, plenty);
  EXPECT_TRUE(cost.measured);
  EXPECT_EQ(cost.trust, Trust::none);
  EXPECT_EQ(cost.wrong, "");
  EXPECT_NE(tuner.vet(bench.node(), bench.backend, bad).wrong, "");
  EXPECT_NE(tuner.cost(bench.node(), bench.backend, bad, 1e9, plenty).wrong, "");
}

TEST(Tuner, RunsNothingPastTheBudget) {
  TunerBench bench(chain, "fast", table);
  Tuner tuner(bench.target, 1e-9, bench.cache, bench.constants, bench.control);
  EXPECT_TRUE(tuner.cost(bench.node(), bench.backend, bench.tactic("one"), 1, plenty).measured);
  EXPECT_GT(tuner.spent(), 1e-9);
  EXPECT_EQ(bench.launches([&] {
    const Cost cost = tuner.cost(bench.node(), bench.backend, bench.tactic("two"), 1, plenty);
    EXPECT_EQ(cost.seconds, 0.008);
    EXPECT_FALSE(cost.measured);
    tuner.search([] { FAIL() << "there is no time"; });
  }),
            0);
  EXPECT_EQ(tuner.vet(bench.node(), bench.backend, bench.tactic("two")).trust, Trust::checked)
      << "a kernel to be used is checked whatever time is left";
}

TEST(Tuner, RunsNothingPastANodesShare) {
  TunerBench bench(chain, "fast", table);
  EXPECT_EQ(bench.launches([&] { EXPECT_FALSE(bench.cost("one", plenty, 0).measured); }), 0);
}

TEST(Tuner, SearchesWhileTheBudgetLasts) {
  TunerBench bench(chain, "fast", table);
  const auto more = [&](double budget, bool deterministic) {
    Target target = bench.target;
    target.deterministic = deterministic;
    Tuner tuner(target, budget, bench.cache, bench.constants, bench.control);
    int searches = 0;
    tuner.search([&] { ++searches; });
    return searches;
  };
  EXPECT_EQ(more(plenty, false), 1);
  EXPECT_EQ(more(0, false), 0);
  EXPECT_EQ(more(plenty, true), 0);
}

// --- Concurrent builds ---

/// The timings that a build of the chain shares.
std::string timings_of_another_build(const TemporaryFolder& folder) {
  TunerBench bench(chain, "fast", table);
  bench.cache = TimingCache(folder / "other.txt");
  bench.cost("one", plenty);
  return content_of(folder / "other.txt");
}

int launches_of_a_check() {
  TunerBench bench(chain, "fast", table);
  return bench.launches([&] { bench.vet("one"); });
}

TEST(TunersTogether, ThreadsReuseEachOthersTimings) {
  const TemporaryFolder folder;
  const std::string timings = timings_of_another_build(folder);
  const int check = launches_of_a_check();
  TunerBench bench(chain, "fast", table);
  bench.cache = TimingCache(folder / "timing.txt");
  auto timing_lock = std::make_unique<TimingLock>(folder / "timing.txt.timing_lock");
  std::thread building([&] { EXPECT_TRUE(bench.cost("one", plenty).measured); });
  while (bench.backend.launches() < check) std::this_thread::yield();
  folder.write("timing.txt", timings);
  timing_lock.reset();
  building.join();
  EXPECT_EQ(bench.backend.launches(), check) << "it was timed again";
}

TEST(TunersTogether, ProcessesReuseEachOthersTimings) {
  const TemporaryFolder folder;
  const std::string timings = timings_of_another_build(folder);
  const int check = launches_of_a_check();
  auto timing_lock = std::make_unique<TimingLock>(folder / "timing.txt.timing_lock");
  const pid_t child = ::fork();
  if (child == 0) {
    TunerBench bench(chain, "fast", table);
    bench.cache = TimingCache(folder / "timing.txt");
    const bool measured = bench.cost("one", plenty).measured;
    ::_exit(!measured ? 1 : bench.backend.launches() > check ? 2 : 0);
  }
  folder.write("timing.txt", timings);
  timing_lock.reset();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(TunersTogether, ShareResultsAtOnce) {
  const TemporaryFolder folder;
  TunerBench bench(chain, "fast", table);
  bench.cache = TimingCache(folder / "timing.txt");
  TimingCache other(folder / "timing.txt");
  const Cost cost = bench.cost("one", plenty);
  TunerBench later(chain, "fast", table);
  later.cache = std::move(other);
  EXPECT_EQ(later.launches([&] { EXPECT_EQ(later.cost("one", plenty).seconds, cost.seconds); }), 0)
      << "the cache was opened before anything was timed";
}

TEST(TunersTogether, ChecksDoNotWaitForTheTimingLock) {
  const TemporaryFolder folder;
  TunerBench bench(chain, "fast", table);
  bench.cache = TimingCache(folder / "timing.txt");
  const TimingLock held(folder / "timing.txt.timing_lock");
  EXPECT_EQ(bench.vet("one").trust, Trust::checked);
}

TEST(TunersTogether, WaitingIsEndedByCancelling) {
  const TemporaryFolder folder;
  TunerBench bench(chain, "fast", table);
  bench.cache = TimingCache(folder / "timing.txt");
  bench.control.cancel = CancelToken::create();
  const TimingLock held(folder / "timing.txt.timing_lock");
  std::thread building(
      [&] { LANNER_EXPECT_ERROR(bench.cost("one", plenty), ErrorCode::cancelled, "cancel"); });
  while (bench.backend.launches() == 0) std::this_thread::yield();
  bench.control.cancel.cancel();
  building.join();
}

// --- Errors ---

TEST(Tuner, StopsWhenItIsCancelled) {
  TunerBench bench(chain, "fast", table);
  bench.control.cancel = CancelToken::create();
  bench.control.cancel.cancel();
  LANNER_EXPECT_ERROR(bench.cost("one", plenty), ErrorCode::cancelled, "cancel");
  LANNER_EXPECT_ERROR(bench.vet("one"), ErrorCode::cancelled, "cancel");
}

TEST(Tuner, RejectsAKernelWithoutMemory) {
  TunerBench bench(chain, "fast", table);
  const Cost poor = bench.vet("poor");
  EXPECT_NE(poor.wrong.find("this kernel lacks memory"), std::string::npos) << poor.wrong;
  EXPECT_EQ(poor.trust, Trust::none);
}

// --- Deterministic builds and definitions ---

TEST(Tuner, DeterministicBuildRunsNothingAndIgnoresTheCache) {
  for (const char* backend : {"cpu", "fast"}) {
    TunerBench bench(chain, backend, table);
    bench.cost("one", plenty);
    bench.cost("bad", plenty);
    bench.target.deterministic = true;
    const bool listed = std::string_view(backend) == "cpu";
    EXPECT_EQ(bench.launches([&] {
      for (const char* kernel : {"one", "bad", "two"})
        for (const Cost& cost : {bench.cost(kernel, plenty), bench.vet(kernel)}) {
          EXPECT_EQ(cost.seconds, bench.tactic(kernel).estimate) << kernel;
          EXPECT_FALSE(cost.measured) << kernel;
          EXPECT_EQ(cost.trust, listed ? Trust::trusted : Trust::none) << kernel;
          EXPECT_EQ(cost.wrong, listed ? "" : "deterministic builds take trusted tactics only") << kernel;
        }
    }),
              0)
        << backend;
  }
}

TEST(Tuner, ADefinitionIsNotComparedWithItself) {
  TunerBench bench(chain, "reference", table);
  EXPECT_EQ(bench.launches([&] { EXPECT_EQ(bench.vet("one").trust, Trust::trusted); }), 0);
  EXPECT_TRUE(bench.cost("one", plenty).measured);
}

// A kernel checked with one number of threads is used with another only if trusted.
TEST(TrustedKernels, AGraphIsTrustedWhenAllItsKernelsAre) {
  for (const char* backend : {"cpu", "fast"}) {
    TunerBench bench(chain, backend, table);
    const std::array<const Backend*, 1> backends{&bench.backend};
    EXPECT_TRUE(trusted(*bench.graph, backends)) << "no kernel was chosen yet";
    bench.node().tactic.backend = backend;
    bench.node().tactic.kernel = "one";
    EXPECT_EQ(trusted(*bench.graph, backends), std::string_view(backend) == "cpu");
  }
}

// --- Keys of problems ---

/// Whether a tuner that knows kernel `one` of a bench has to test it again on another bench.
bool told_apart(TunerBench& known, TunerBench& other) {
  known.vet("one");
  std::swap(known.cache, other.cache);
  const bool tried = other.launches([&] { other.vet("one"); }) > 0;
  std::swap(known.cache, other.cache);
  return tried;
}

bool told_apart(const char* graph, const char* words, const char* rules) {
  TunerBench known(chain, "fast 1.2", "// relu as one: row -> row = 7\n"), other(graph, words, rules);
  return told_apart(known, other);
}

TEST(TunerKeys, AreEqualForTheSameWork) {
  EXPECT_FALSE(told_apart(chain, "fast 1.2", "// relu as one: row -> row = 9\n"));
  EXPECT_FALSE(told_apart("graph @other(%in: f32[2, 3]) -> (%out) {\n"
                          "  %out = relu(%in) source(\"a\", \"b\")\n"
                          "}\n",
                          "fast 1.2", "// relu as one: row -> row = 7\n"));
}

TEST(TunerKeys, DifferByKernelAndProblem) {
  const char* rule = "// relu as one: row -> row = 7\n";
  EXPECT_TRUE(told_apart(chain, "slow 1.2", rule));
  EXPECT_TRUE(told_apart(chain, "fast 1.3", rule));
  EXPECT_TRUE(told_apart(chain, "fast 1.2", "// relu as one/8: row -> row = 7\n"));
  EXPECT_TRUE(told_apart(chain, "fast 1.2", "// relu as one: ba -> row = 7\n"));
  EXPECT_TRUE(told_apart(chain, "fast 1.2", "// relu as one: row -> ba = 7\n"));
  EXPECT_TRUE(told_apart(chain, "fast 1.2", "// relu as one: bf16 row -> row = 7\n"));
  EXPECT_TRUE(told_apart("graph @g(%x: f32[3, 2]) -> (%y) {\n  %y = relu(%x)\n}\n", "fast 1.2", rule));
  EXPECT_TRUE(told_apart("graph @g(%x: f16[2, 3]) -> (%y) {\n  %y = relu(%x)\n}\n", "fast 1.2", rule));
  EXPECT_TRUE(told_apart("graph @g(%x: f32[2, 3]) -> (%y) {\n  %y = exp(%x)\n}\n", "fast 1.2",
                         "// exp as one: row -> row = 7\n"));
  EXPECT_TRUE(told_apart("graph @g(%x: f32[2, 3]) -> (%y) {\n"
                         "  %y = fused(%x) {kind = \"relu\"} ((%x1: f32[2, 3]) -> (%r) {\n"
                         "    %r = relu(%x1)\n  })\n}\n",
                         "fast 1.2", rule));
}

TEST(TunerKeys, DifferByTheTarget) {
  for (const bool threads : {true, false}) {
    TunerBench known(chain, "fast", table), other(chain, "fast", table);
    if (threads)
      other.target.threads = known.target.threads + 1;
    else
      other.target.isa = "another";
    EXPECT_TRUE(told_apart(known, other)) << threads;
  }
}

/// The signature of a graph's last node.
std::string signature_of(std::string_view body, std::string_view inputs = "%x: f32[2, 3], %z: f32[2, 3]") {
  const auto graph =
      parse_graph(fmt::format("graph @g({}) -> () {{\n{}\n}}", inputs, body), builtin_op_table());
  return signature(*graph->body().nodes().back());
}

TEST(Signature, IgnoresNamesAndWeights) {
  const auto with_weights = [](const char* name, const char* values) {
    return signature_of(
        fmt::format("  %{0} = constant() {{value = f32[3]({1})}}\n  %y = add(%x, %{0})", name, values));
  };
  EXPECT_EQ(with_weights("w", "1.0, 2.0, 3.0"), with_weights("v", "4.0, 5.0, 6.0"));
}

TEST(Signature, DiffersByOperatorTypesAndAttributes) {
  const std::vector<std::string> all{
      signature_of("  %y = add(%x, %z)"),
      signature_of("  %y = add(%x, %x)"),
      signature_of("  %y = sub(%x, %z)"),
      signature_of("  %c = constant() {value = f32[2, 3](1.0, 2.0, 3.0, 4.0, 5.0, 6.0)}\n  %y = add(%x, %c)"),
      signature_of("  %c = constant() {value = f32[3](1.0, 2.0, 3.0)}\n  %y = add(%x, %c)"),
      signature_of("  %y = add(%x, %z)", "%x: f32[2, 3], %z: f32[3]"),
      signature_of("  %y = add(%x, %z)", "%x: f16[2, 3], %z: f16[2, 3]"),
      signature_of("  %y = add(%x, %z)", "%x: f32[2, 3] @ ba, %z: f32[2, 3]"),
      signature_of("  %y = add(%x, %z)", "%x: f32[2, 3], %z: f32[2, 3] @ ba"),
      signature_of("  %y = add(%x, %z)", "%x: f32[2, 3] @ i8 scale=0.5, %z: f32[2, 3]"),
      signature_of("  %y = add(%x, %z)", "%x: f32[2, 3] @ i8 scale=0.5 zero=3, %z: f32[2, 3]"),
      signature_of("  %y = add(%x, %z)", "%x: f32[2, 3] @ cuda:0, %z: f32[2, 3]"),
      signature_of("  %y: f32[2, 3] @ ba = add(%x, %z)"),
      signature_of("  %y = softmax(%x)"),
      signature_of("  %y = softmax(%x) {axis = 0}"),
      signature_of("  %y = softmax(%x) {axis = 1}"),
      signature_of("  %y = clip(%x, _, _)"),
      signature_of("  %c = constant() {value = f32[](1.0)}\n  %y = clip(%x, %c, _)"),
      signature_of("  %c = constant() {value = f32[](1.0)}\n  %y = clip(%x, _, %c)"),
  };
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(all[a], all[b]) << a << " " << b;
}

/// Signature of a fused node with this region, which computes %r from %a and %b.
std::string body_signature(std::string_view body) {
  return signature_of(
      fmt::format("  %y = fused(%x, %z) {{kind = \"k\"}} ((%a: f32[2, 3], %b: f32[2, 3]) -> (%r) {{\n"
                  "{}\n  }})",
                  body));
}

TEST(Signature, DiffersByTheRegion) {
  const std::vector<std::string> all{
      body_signature("    %m = add(%a, %b)\n    %r = relu(%m)"),
      body_signature("    %m = add(%b, %a)\n    %r = relu(%m)"),
      body_signature("    %m = add(%a, %a)\n    %r = relu(%m)"),
      body_signature("    %m = relu(%a)\n    %r = add(%m, %b)"),
      body_signature("    %m = relu(%a)\n    %r = add(%b, %m)"),
      body_signature("    %m = add(%a, %b)\n    %r = leaky_relu(%m)"),
      body_signature("    %m = add(%a, %b)\n    %r = leaky_relu(%m) {alpha = 0.5}"),
      body_signature("    %c = constant() {value = f32[](1.0)}\n    %m = add(%a, %b)\n    %r = mul(%m, %c)"),
      body_signature("    %c = constant() {value = f32[](2.0)}\n    %m = add(%a, %b)\n    %r = mul(%m, %c)"),
  };
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(all[a], all[b]) << a << " " << b;
  EXPECT_EQ(body_signature("    %m = add(%a, %b)\n    %r = relu(%m)"),
            body_signature("    %n = add(%a, %b) source(\"s\")\n    %r = relu(%n)"));
}

TEST(Signature, DiffersByTextsAndTensorsInAttributes) {
  const auto equation = [](const char* text) {
    return signature_of(fmt::format("  %y = einsum(%x, %z) {{equation = \"{}\"}}", text));
  };
  EXPECT_NE(equation("ij,ij->ij"), equation("ij,ij->i"));
}

} // namespace
} // namespace lanner::test
