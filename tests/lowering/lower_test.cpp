// Tests of lowering beyond the golden files: errors, progress, looking up tactics.

#include "lower/lower.h"

#include <array>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/text/text.h"
#include "lowering/table_backend.h"
#include "ops/table/table.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

using test::TableBackend;

constexpr const char* chain = "graph @g(%x: f32[2, 3]) -> (%y) {\n"
                              "  %a = relu(%x)\n"
                              "  %b = exp(%a)\n"
                              "  %y = neg(%b)\n"
                              "}\n";

/// `vetting`: seconds that checks may take.
Lowered lowered(std::string_view text, const Backend& backend, const Control& control, double vetting = 2) {
  const std::array<const Backend*, 1> backends{&backend};
  const Target target;
  TimingCache cache;
  WeightStore constants;
  Tuner tuner(target, 0, cache, constants, control);
  tuner.set_vetting(vetting);
  return lower(parse_graph(text, builtin_op_table()), {backends, target, tuner, constants, control});
}

const TableBackend& chain_backend() {
  static const TableBackend backend("fast", "// relu: row -> row = 1\n"
                                            "// exp: row -> row = 1\n"
                                            "// neg: row -> row = 1\n");
  return backend;
}

/// The only timed kernel is wrong, which a check of what was chosen shows: one with an estimate is next, not
/// the definition.
TEST(Lower, TakesAKernelWithAnEstimateWhereTheTimedOneIsWrong) {
  const TableBackend backend("cpu", "// relu as bad: row -> row = 1, fault wrong value\n"
                                    "// relu as good: row -> row = 9\n");
  const std::array<const Backend*, 1> backends{&backend};
  const Target target;
  TimingCache cache;
  WeightStore constants;
  const Control control;
  const std::string text = "graph @g(%x: f32[2, 3]) -> (%y) {\n  %y = relu(%x)\n}\n";
  Tuner tuner(target, 1e-9, cache, constants, control); // Enough for the first kernel.
  const Lowered result =
      lower(parse_graph(text, builtin_op_table()), {backends, target, tuner, constants, control});
  EXPECT_EQ(result.graph->body().nodes().back()->tactic.kernel, "good");
}

TEST(Lower, StopsWhenItIsCancelled) {
  Control control;
  control.cancel = CancelToken::create();
  control.cancel.cancel();
  LANNER_EXPECT_ERROR(lowered(chain, chain_backend(), control), ErrorCode::cancelled, "cancel");
}

TEST(Lower, StopsBetweenNodes) {
  Control control;
  control.cancel = CancelToken::create();
  int reported = 0;
  control.progress = [&](const ProgressUpdate&) {
    if (++reported == 2) control.cancel.cancel();
  };
  LANNER_EXPECT_ERROR(lowered(chain, chain_backend(), control), ErrorCode::cancelled, "cancel");
  EXPECT_EQ(reported, 2);
}

TEST(Lower, ReportsEachNodeAndEachCheck) {
  Control control;
  std::vector<double> tuned, checked;
  control.progress = [&](const ProgressUpdate& update) {
    if (update.stage == "check") return checked.push_back(update.done);
    EXPECT_EQ(update.stage, "tune");
    EXPECT_EQ(update.total, 3);
    tuned.push_back(update.done);
  };
  lowered(chain, chain_backend(), control);
  EXPECT_EQ(tuned, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(checked, (std::vector<double>{0, 1, 2}));
}

// No kernel of the table is on the project's list, so that only the definitions are left.
TEST(Lower, UsesKernelsThatNeedNoCheckWithoutTimeForChecks) {
  const Lowered result = lowered(chain, chain_backend(), {}, 0);
  for (const auto& node : result.graph->body().nodes()) EXPECT_EQ(node->tactic.backend, "interpreter");
  std::size_t told = 0;
  for (const NodeReport& report : result.reports)
    for (const std::string& note : report.notes)
      told += note.find("no time to check it") != std::string::npos;
  EXPECT_EQ(told, 3);
}

/// Offers a tactic without storages.
class Forgetful final : public Backend {
public:
  std::string_view name() const override { return "forgetful"; }
  bool fuses(std::span<const Node* const>, const Node&, const Target&) const override { return false; }
  TacticList tactics(const Node&, const Target&) const override {
    TacticList list;
    list.tactics.emplace_back().kernel = "vague";
    return list;
  }
  std::unique_ptr<Kernel> prepare(const Node&, const Tactic&, std::span<const Tensor* const>,
                                  const Target&) const override {
    return nullptr;
  }
};

TEST(Lower, RejectsTacticsWithAMissingStorage) {
  LANNER_EXPECT_ERROR(lowered(chain, Forgetful(), {}), ErrorCode::internal,
                      "tactic vague of relu %a does not give a storage for each value");
}

/// Whether `backend` offers the tactic that the last node of `text` names.
bool offers(const TableBackend& backend, std::string_view text) {
  const auto graph = parse_graph(text, builtin_op_table());
  const std::array<const Backend*, 1> backends{&backend};
  return find_offered(*graph->body().nodes().back(), backends, {}).has_value();
}

std::string named(const char* tactic, const char* storage = "row") {
  return fmt::format("graph @g(%x: f32[2, 3] @ {0}) -> (%y) {{\n"
                     "  %y: f32[2, 3] @ {0} = relu(%x) tactic({1}, 0.0)\n}}\n",
                     storage, tactic);
}

TEST(FindOffered, RequiresTheSameKernelConfigAndStorages) {
  const TableBackend backend("fast", "// relu as r/a: row -> row = 1\n"
                                     "// relu as r/b: ba -> ba = 1\n"
                                     "// relu as s/c: row -> row = 1, later\n"
                                     "// relu as q/d: i8 row scale=0.25 -> i8 row scale=0.25 = 1\n");
  EXPECT_TRUE(offers(backend, named(R"("fast", "r", 61)")));
  EXPECT_TRUE(offers(backend, named(R"("fast", "r", 62)", "ba")));
  EXPECT_TRUE(offers(backend, named(R"("fast", "s", 63)")));
  EXPECT_FALSE(offers(backend, named(R"("slow", "r", 61)")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "t", 61)")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "r", 62)")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "r", _)")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "r", 61)", "ba")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "r", 61)", "bf16")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "r", 61)", "cuda:0")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "r", 61)", "i8 scale=0.25")));
  EXPECT_TRUE(offers(backend, named(R"("fast", "q", 64)", "i8 scale=0.25")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "q", 64)", "i8 scale=0.5")));
  EXPECT_FALSE(offers(backend, named(R"("fast", "q", 64)", "i8")));
}

TEST(FindOffered, TreatsSpellingsOfRowMajorAsEqual) {
  const TableBackend backend("fast", "// relu: ab -> row = 1\n");
  EXPECT_TRUE(offers(backend, named(R"("fast", "relu", _)")));
  EXPECT_TRUE(offers(backend, named(R"("fast", "relu", _)", "f32 ab")));
}

} // namespace
} // namespace lanner
