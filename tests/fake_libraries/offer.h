#pragma once
// The tactics that a kernel family offers for a node.

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "backends/family.h"
#include "backends/tactic_check.h"
#include "fake_driver/fake_gpu.h"

namespace lanner {

/// A node, a family and its offers.
struct Offer {
  const KernelFamily& family;
  NodeCase node_case;
  Target target;

  Offer(const KernelFamily& family, const char* ir, std::vector<DType> precisions = {DType::f32})
      : family(family), node_case(make_case(ir)) {
    target.device = test::gpu_device;
    target.precision.types = {precisions.begin(), precisions.end()};
  }
  TacticList tactics() const { return family.tactics(*node_case.node, Group::of(*node_case.node), target); }
  TacticList more() const { return family.more(*node_case.node, Group::of(*node_case.node), target); }
  /// All offers, the immediate ones first.
  TacticList all() const {
    TacticList list = tactics();
    std::ranges::move(more().tactics, std::back_inserter(list.tactics));
    return list;
  }
  /// The tactics found for a plan's node with this tactic.
  TacticList named(const Tactic& tactic) const {
    Node& node = *node_case.node;
    node.tactic = {"cuda", tactic.kernel, tactic.config};
    node.output()->storage = tactic.outputs.at(0);
    return family.named(node, Group::of(node), target);
  }
  std::unique_ptr<Kernel> prepare(const Tactic& tactic) const {
    const Group group = Group::of(*node_case.node);
    return family.prepare({"cuda", *node_case.node, group, tactic, {}, target});
  }
};

} // namespace lanner
