#include "lower/measure/estimates.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "lowering/table_backend.h"

namespace lanner {
namespace {

constexpr Device gpu{DeviceKind::cuda, 0};

/// A product with an epilogue, which was measured at 52 us, and another of as much work, measured at 33 us.
class ProvisionalCost : public testing::Test {
protected:
  ProvisionalCost() : graph_(test::parsed(text)), backend_("fast", "") {
    auto node = graph_->body().nodes().begin();
    Node &product = **node++, &activation = **node++, &other = **node;
    proposals_.push_back(measured({&product, &activation}, 52e-6));
    proposals_.push_back(measured({&other}, 33e-6));
    Proposal alone_;
    alone_.node = &product;
    alone_.members = {&product};
    alone_.inputs = {product.input(0), product.input(1)};
    alone_.outputs = {product.output()};
    proposals_.push_back(std::move(alone_));
  }

  /// Of the product without its epilogue.
  double on(const Device& device) {
    Target target;
    target.device = device;
    TimingCache cache;
    WeightStore constants;
    const Control control;
    Tuner tuner(target, 0, cache, constants, control);
    set_provisional_costs(proposals_, Estimates(proposals_), {{}, target, tuner, constants, control});
    return proposals_.back().list.at(0).cost.seconds;
  }

  std::vector<Proposal> proposals_;

private:
  Proposal measured(NodeGroup members, double seconds) {
    Proposal made;
    made.own = alone(members);
    made.node = made.own->body().nodes().back().get();
    made.inputs = inputs_of(members);
    made.outputs = outputs_of(members);
    made.members = std::move(members);
    Tactic tactic{.kernel = "own", .estimate = seconds};
    tactic.inputs.resize(made.inputs.size());
    tactic.outputs.resize(made.outputs.size());
    Cost cost{seconds};
    cost.measured = true;
    made.list.push_back({&backend_, std::move(tactic), cost});
    made.asked = true;
    return made;
  }

  static constexpr auto text = "graph @g(%x: f32[64, 64], %v: f32[64, 64], %w: f32[64, 64]) -> (%y, %z) {\n"
                               "  %p = matmul(%x, %v)\n  %y = gelu(%p)\n  %z = matmul(%x, %w)\n}\n";
  std::unique_ptr<Graph> graph_;
  test::TableBackend backend_;
};

TEST_F(ProvisionalCost, OnAGpuIsThatOfAFasterProductOfAsMuchWork) {
  EXPECT_NEAR(on(gpu), 33e-6, 1e-6);
}

TEST_F(ProvisionalCost, OnACpuIsThatOfTheProductWithItsEpilogue) {
  EXPECT_NEAR(on({}), 52e-6, 1e-6);
}

TEST_F(ProvisionalCost, OfAProductThatIsNotMuchSlowerThanOthersIsItsOwn) {
  proposals_[0].list[0].cost.seconds = 36e-6;
  EXPECT_NEAR(on(gpu), 36e-6, 1e-6);
}

TEST_F(ProvisionalCost, OfProductsOfMoreWorkSaysNothing) {
  const auto graph = test::parsed("graph @g(%x: f32[64, 128], %w: f32[128, 64]) -> (%z) {\n"
                                  "  %z = matmul(%x, %w)\n}\n");
  Proposal& other = proposals_[1];
  other.own = nullptr;
  other.node = graph->body().nodes().back().get();
  EXPECT_NEAR(on(gpu), 52e-6, 1e-6);
}

} // namespace
} // namespace lanner
