#include "backends/cpu/onednn/single.h"

#include "backends/cpu/onednn/implementations.h"
#include "backends/storage_layout.h"

namespace lanner::onednn {

TacticList single_tactics(const SinglePrimitive& single, const Node& node, const Group& group,
                          const Target& target) {
  TacticList list;
  if (group.ops().size() != 1 || !single.takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const Shape input = op.input(0).shape(), output = op.type().shape();
  if (input.elements() == 0 || output.elements() == 0) return list;
  const ThreadCount count(target.threads);
  const double bytes = 4.0 * static_cast<double>(input.elements() + output.elements());
  std::vector<Layout> layouts =
      single.any_rank ? std::vector<Layout>{Layout{}} : activation_layouts(input.rank());
  double slower = 1;
  for (const Layout& layout : layouts) {
    const Layout from = canonical(layout, input);
    const Layout to = output.rank() == input.rank() ? canonical(layout, output) : Layout{};
    for (const Implementation& implementation : implementations(single.make(group, from, to).descriptor, 1)) {
      Tactic tactic;
      tactic.kernel = single.kernel;
      ConfigText config;
      name_implementation(config, implementation);
      tactic.config = config.bytes();
      tactic.inputs.resize(node.inputs().size());
      tactic.inputs[op.input(0).index] = stored(from);
      tactic.outputs.resize(node.outputs().size());
      tactic.outputs[0] = stored(to);
      tactic.estimate = rough_seconds(0, bytes, target.threads) * slower;
      list.tactics.push_back(std::move(tactic));
      slower += 0.1;
    }
  }
  if (list.tactics.empty()) list.reason = "onednn: no implementation of " + op.kind() + " for these shapes";
  return list;
}

std::unique_ptr<Kernel> single_prepare(const SinglePrimitive& single, const Preparation& p) {
  const GroupOp& op = p.group.ops().front();
  const Layout& from = p.tactic.inputs.at(op.input(0).index).layout;
  const Layout& to = p.tactic.outputs.at(0).layout;
  const ThreadCount count(p.target.threads);
  const auto make = [&] { return single.make(p.group, from, to).descriptor; };
  const Implementation chosen = find_implementation(make, ConfigText(p.tactic.config));
  return std::make_unique<Execution>(chosen.descriptor, single.make(p.group, from, to).arguments,
                                     p.target.threads);
}

} // namespace lanner::onednn
