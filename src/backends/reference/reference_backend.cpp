#include "backends/reference/reference_backend.h"

#include <algorithm>
#include <optional>

#include <lanner/error.h>

#include "backends/estimate.h"
#include "base/check.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "ops/definition/stored_reals.h"

namespace lanner {

namespace {

/// A launch's pointers as tensors.
class LaunchContext final : public KernelContext {
public:
  LaunchContext(const Node& node, const Tactic& tactic, const Launch& launch, int threads)
      : node_(node), threads_(threads), inputs_(node.own_inputs().size()), outputs_(node.outputs().size()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (const Value* value = node.input(i))
        inputs_[i].tensor = wrap(value->type, tactic.inputs[i], const_cast<void*>(launch.inputs[i]));
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (launch.outputs[i]) outputs_[i] = wrap(node.output(i)->type, tactic.outputs[i], launch.outputs[i]);
  }

  const Node& node() const override { return node_; }
  std::size_t inputs() const override { return inputs_.size(); }
  bool has(std::size_t i) const override { return i < inputs_.size() && node_.input(i) != nullptr; }
  const Tensor& input(std::size_t i) const override { return item(i).tensor; }
  const Item& item(std::size_t i) const override {
    check(has(i), ErrorCode::invalid_argument, "{}: input {} is absent", node_.kind(), i);
    return inputs_[i];
  }
  std::size_t outputs() const override { return outputs_.size(); }
  bool wanted(std::size_t i) const override { return i < outputs_.size() && outputs_[i].has_value(); }
  Tensor& output(std::size_t i) override {
    if (!outputs_.at(i))
      outputs_[i] = Tensor::allocate(node_.output(i)->type.dtype(), node_.output(i)->type.shape());
    return *outputs_[i];
  }
  Tensor& allocate(std::size_t i, DType type, Shape shape) override {
    Tensor& tensor = output(i);
    check(tensor.dtype() == type && tensor.shape() == shape, ErrorCode::internal,
          "{}: the kernel returned {}, inference expected {}", node_.kind(), shape.to_string(),
          tensor.shape().to_string());
    return tensor;
  }
  void set_item(std::size_t i, Item item) override {
    check(!item.is_sequence() && !item.absent, ErrorCode::internal, "{}: not a tensor", node_.kind());
    copy_tensor(item.tensor, allocate(i, item.tensor.dtype(), item.tensor.shape()));
  }
  std::vector<Item> run_region(std::size_t, std::span<const Item>) override {
    fail(ErrorCode::internal, "{}: has regions", node_.kind());
  }
  int threads() const override { return threads_; }

private:
  static Tensor wrap(const Type& type, const Storage& storage, void* data) {
    return Tensor::wrap(data, storage.dtype.value_or(type.dtype()), type.shape(), nullptr, storage.layout);
  }

  const Node& node_;
  int threads_;
  std::vector<Item> inputs_;
  std::vector<std::optional<Tensor>> outputs_;
};

class ReferenceKernel final : public Kernel {
public:
  ReferenceKernel(const Node& node, Tactic tactic, int threads)
      : node_(node), tactic_(std::move(tactic)), threads_(threads) {}
  void launch(const Launch& launch) const override {
    LaunchContext context(node_, tactic_, launch, threads_);
    node_.op().reference(context);
  }

private:
  const Node& node_;
  Tactic tactic_;
  int threads_;
};

/// A reorder from or to floats that are stored quantised: the operator's reference does not handle storages.
class RequantizeKernel final : public Kernel {
public:
  RequantizeKernel(const Node& node, Tactic tactic) : node_(node), tactic_(std::move(tactic)) {}

  void launch(const Launch& launch) const override {
    const auto read = [&](const Value& value) {
      if (value.constant()) return ops::stored_constant(value);
      const auto place = std::ranges::find(node_.inputs(), &value) - node_.inputs().begin();
      return wrap(value.type, value.storage, launch.inputs[static_cast<std::size_t>(place)]);
    };
    const Type& type = node_.output()->type;
    const Tensor from = wrap(type, tactic_.inputs[0], launch.inputs[0]);
    Tensor to = wrap(type, tactic_.outputs[0], launch.outputs[0]);
    ops::store_reals(ops::reals_of(from, tactic_.inputs[0], type.dtype(), read), tactic_.outputs[0], read,
                     to);
  }

private:
  static Tensor wrap(const Type& type, const Storage& storage, const void* data) {
    return Tensor::wrap(const_cast<void*>(data), storage.dtype.value_or(type.dtype()), type.shape(), nullptr,
                        storage.layout);
  }

  const Node& node_;
  Tactic tactic_;
};

bool is_requantization(const Node& node, const Tactic& tactic) {
  return node.kind() == "reorder" && (tactic.inputs[0].quantization || tactic.outputs[0].quantization);
}

std::string why_not(const Node& node) {
  if (!node.op().reference) return node.kind() + " is defined by other operators";
  if (!node.regions().empty()) return node.kind() + " has regions";
  const auto planned = [](const Type& type) { return type.is_static() && type.dtype() != DType::string; };
  for (const Value* value : node.inputs())
    if (value && !planned(value->type)) return "an input is not a tensor of known shape";
  for (const auto& value : node.outputs())
    if (!planned(value->type)) return "an output is not a tensor of known shape";
  if (!types_follow(node)) return "an output's size depends on data";
  return {};
}

/// A reorder copies between any two layouts, numeric types and scales.
void reorder_storages(const Node& node, Tactic& tactic) {
  if (!node.input(0)->storage.device.is_host() || !node.output()->storage.device.is_host()) return;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) tactic.inputs[i] = node.input(i)->storage;
  tactic.outputs[0] = node.output()->storage;
  for (Storage* storage : {&tactic.inputs[0], &tactic.outputs[0]}) {
    storage->parent = nullptr;
    storage->offset = 0;
  }
}

/// Whether output 0 is input 0 with some elements changed, which the definition does in place in any layout.
bool changes_its_data(const Node& node) {
  return node.kind() == "scatter_nd" || node.kind() == "scatter_elements" || node.kind() == "tensor_scatter";
}

class ReferenceBackend final : public Backend {
public:
  std::string_view name() const override { return "reference"; }
  bool trusts(std::string_view, bool) const override { return true; }
  bool fuses(std::span<const Node* const>, const Node&, const Target&) const override { return false; }

  TacticList tactics(const Node& node, const Target& target) const override {
    TacticList list;
    list.reason = why_not(node);
    if (!list.reason.empty()) return list;
    Tactic tactic;
    tactic.kernel = "reference";
    tactic.inputs.resize(node.inputs().size());
    tactic.outputs.resize(node.outputs().size());
    if (node.kind() == "reorder") reorder_storages(node, tactic);
    if (changes_its_data(node)) tactic.in_place = 0;
    // Scalar loops with checks take several times as long as kernels.
    constexpr double share = 1.0 / 12;
    double bytes = 0;
    for (const auto& value : node.outputs())
      bytes += 4.0 * static_cast<double>(value->type.shape().elements());
    tactic.estimate = 3 * target.machine().start + seconds_of({.bytes = bytes / share}, target);
    list.tactics.push_back(std::move(tactic));
    return list;
  }

  std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic, std::span<const Tensor* const>,
                                  const Target& target) const override {
    if (is_requantization(node, tactic)) return std::make_unique<RequantizeKernel>(node, tactic);
    return std::make_unique<ReferenceKernel>(node, tactic, target.threads);
  }
};

} // namespace

const Backend& reference_backend() {
  static const ReferenceBackend backend;
  return backend;
}

} // namespace lanner
