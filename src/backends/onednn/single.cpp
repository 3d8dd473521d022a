#include "backends/onednn/single.h"

#include "backends/estimate.h"
#include "backends/onednn/implementations.h"
#include "backends/onednn/nan_guard.h"
#include "backends/onednn/post_ops.h"
#include "backends/reduction/reduction.h"
#include "backends/storage_layout.h"
#include "base/check.h"

namespace lanner::onednn {

namespace {

const Backend* keeper_of(const SinglePrimitive& single, const GroupOp& op) {
  return single.keeper ? single.keeper(op) : nullptr;
}

/// Replaces a kernel with the given layouts by another kernel of the node that takes and returns row-major
/// values; for nodes with one operand. Reads the node while running, as the reference kernels do.
class PlainKernel final : public Kernel {
public:
  PlainKernel(const Backend& backend, std::string kernel, const Node& node, const Target& target, DType type,
              Layout from, Layout to)
      : node_(node), type_(type), from_(std::move(from)), to_(std::move(to)) {
    Tactic plain;
    plain.kernel = std::move(kernel);
    plain.inputs.resize(node.inputs().size());
    plain.outputs.resize(node.outputs().size());
    kernel_ = backend.prepare(node, plain, {}, target);
  }

  void launch(const Launch& launch) const override {
    const Shape in = node_.input(0)->type.shape(), out = node_.output()->type.shape();
    Tensor x = Tensor::allocate(DType::f32, in), y = Tensor::allocate(DType::f32, out);
    copy_tensor(Tensor::wrap(const_cast<void*>(launch.inputs[0]), type_, in, nullptr, from_), x);
    std::vector<const void*> inputs(launch.inputs.begin(), launch.inputs.end());
    std::vector<void*> outputs(launch.outputs.begin(), launch.outputs.end());
    inputs[0] = x.data();
    outputs[0] = y.data();
    kernel_->launch({inputs, outputs, nullptr, launch.stream});
    Tensor result = Tensor::wrap(launch.outputs[0], type_, out, nullptr, to_);
    copy_tensor(y, result);
    clear_padding(launch.outputs[0], to_, out, bit_width(type_) / 8);
  }

private:
  const Node& node_;
  DType type_;
  Layout from_, to_;
  std::unique_ptr<Kernel> kernel_;
};

} // namespace

TacticList single_tactics(const SinglePrimitive& single, const Node& node, const Group& group,
                          const Target& target) {
  TacticList list;
  if (single.type == DType::bf16 && !takes_bf16(target)) return list;
  if (group.ops().size() != 1 || !single.takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const Shape input = op.input(0).shape(), output = op.type().shape();
  if (input.elements() == 0 || output.elements() == 0) return list;
  // Where it hides a NaN another kernel of the node runs.
  if (keeper_of(single, op) && op.node != &node) return list;
  const ThreadCount count(target.threads);
  const double bytes = static_cast<double>(bit_width(single.type)) / 8 *
                       (static_cast<double>(input.elements()) + static_cast<double>(output.elements()));
  std::vector<Layout> layouts =
      single.any_rank ? std::vector<Layout>{Layout{}} : activation_layouts(input.rank());
  double slower = 1;
  for (const Layout& layout : layouts) {
    const Layout to = output.rank() == input.rank() ? layout : Layout{};
    for (const Implementation& implementation :
         implementations(single.make(group, layout, to).descriptor, 1)) {
      Tactic tactic;
      tactic.kernel = single.kernel;
      if (adds_up(op)) tactic.accumulates = accumulated_in(op.kind());
      ConfigText config;
      name_implementation(config, implementation);
      config.set("src", layout.to_string()).set("dst", to.to_string());
      tactic.config = config.bytes();
      tactic.inputs.resize(node.inputs().size());
      tactic.inputs[op.input(0).index] = stored_real(canonical(layout, input), single.type);
      tactic.outputs.resize(node.outputs().size());
      tactic.outputs[0] = stored_real(canonical(to, output), single.type);
      tactic.estimate = seconds_of({.bytes = bytes, .threads = target.threads}, target) * slower;
      list.tactics.push_back(std::move(tactic));
      slower += 0.1;
    }
  }
  if (list.tactics.empty()) list.reason = "no implementation of " + op.kind() + " for these shapes";
  return list;
}

std::unique_ptr<Kernel> single_prepare(const SinglePrimitive& single, const Preparation& p) {
  const GroupOp& op = p.group.ops().front();
  // oneDNN distinguishes layouts that canonical() considers equal, when sizes are 1: the configuration uses
  // oneDNN's names.
  const ConfigText config(p.tactic.config);
  const Layout from = Layout::parse(config.text("src")), to = Layout::parse(config.text("dst"));
  check(canonical(from, op.input(0).shape()) == p.tactic.inputs.at(op.input(0).index).layout &&
            canonical(to, op.type().shape()) == p.tactic.outputs.at(0).layout,
        ErrorCode::bad_data, "onednn: {}: configuration and storages disagree: build the plan again",
        single.kernel);
  const ThreadCount count(p.target.threads);
  const auto make = [&] { return single.make(p.group, from, to).descriptor; };
  const Implementation chosen = find_implementation(make, config);
  auto fast = std::make_unique<Execution>(chosen.descriptor, single.make(p.group, from, to).arguments,
                                          p.target.threads);
  const Backend* const keeper = keeper_of(single, op);
  if (!keeper) return fast;
  return guarded(std::move(fast), [keeper, kernel = std::string(single.kernel), &node = p.node,
                                   target = p.target, type = single.type, from, to] {
    return std::make_unique<PlainKernel>(*keeper, kernel, node, target, type, from, to);
  });
}

} // namespace lanner::onednn
