#include <lanner/tensor.h>

#include "backends/estimate.h"
#include "backends/family.h"

namespace lanner {

namespace {

struct Side {
  DType type;
  Shape shape;
  Layout layout;

  Tensor wrap(const void* data) const {
    return Tensor::wrap(const_cast<void*>(data), type, shape, nullptr, layout);
  }
};

Side side_of(const Value& value, const Storage& storage) {
  return {storage.dtype.value_or(value.type.dtype()), value.type.shape(), storage.layout};
}

class CopyKernel final : public Kernel {
public:
  CopyKernel(Side from, Side to) : from_(std::move(from)), to_(std::move(to)) {}
  void launch(const Launch& launch) const override {
    Tensor to = to_.wrap(launch.outputs[0]);
    copy_tensor(from_.wrap(launch.inputs[0]), to);
  }

private:
  Side from_, to_;
};

TacticList copy_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (group.ops().size() != 1 || group.ops().front().kind() != "reorder") return list;
  const Storage &from = node.input(0)->storage, &to = node.output(0)->storage;
  const bool same_type = side_of(*node.input(0), from).type == side_of(*node.output(0), to).type;
  if (same_type && from.layout.blocks.empty() && to.layout.blocks.empty())
    return list; // The box kernels do it.
  if (from.quantization || to.quantization) return list;
  Tactic tactic;
  tactic.kernel = "copy";
  tactic.inputs.resize(node.inputs().size()); // the further inputs are scales, which it does not read
  tactic.inputs[0] = from;
  tactic.outputs = {to};
  constexpr double share = 1.0 / 15; // Element by element.
  tactic.estimate =
      3 * target.machine().start + seconds_of({.bytes = plain_bytes(*node.output(0)) / share}, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> copy_prepare(const Preparation& p) {
  return std::make_unique<CopyKernel>(side_of(*p.node.input(0), p.tactic.inputs.at(0)),
                                      side_of(*p.node.output(0), p.tactic.outputs.at(0)));
}

} // namespace

extern const KernelFamily copy_family{"copy", KernelTrust::own(), copy_tactics, copy_prepare};

} // namespace lanner
