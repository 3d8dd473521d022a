#include "run/late_kernels.h"

#include <algorithm>
#include <cstring>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "ops/moves.h"

namespace lanner {
namespace {

bool is_near(const Storage& storage, Device device) {
  return storage.device == device && storage.layout.row_major() && !storage.dtype && !storage.quantization;
}

class LateNode {
public:
  LateNode(const Program& program, const Node& node, std::span<const Item* const> operands,
           const Mover& mover)
      : program_(program), node_(node), mover_(mover), items_(operands.size()),
        pointers_(operands.size(), nullptr) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i]) items_[i] = *operands[i];
      arguments_.push_back(operands[i] ? &items_[i] : nullptr);
    }
  }

  std::optional<std::vector<Item>> run() {
    if (!all_tensors()) return std::nullopt;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (arguments_[i] && !ops::moves_elements_of(node_, i))
        items_[i].tensor = mover_.on(Device{}, items_[i].tensor);
    types_ = infer_node(node_, arguments_);
    if (!std::ranges::all_of(types_, [](const Type& type) { return type.is_static(); })) return std::nullopt;
    if (!worth_it()) return std::nullopt;
    if (node_.kind() == "constant_of_shape") return zeros();
    return by_kernel();
  }

private:
  Device device() const { return program_.device(); }

  bool all_tensors() const {
    return node_.regions().empty() && ops::moves_elements(node_) &&
           std::ranges::all_of(arguments_, [](const Item* item) {
             return !item || (item->tensor.defined() && item->tensor.dtype() != DType::string);
           });
  }

  /// Of what is there already, and of what is made.
  bool worth_it() const {
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (arguments_[i] && items_[i].tensor.device() == device())
        most = std::max(most, items_[i].tensor.bytes());
    for (const Type& type : types_)
      if (type.dtype() != DType::string) most = std::max(most, Layout{}.bytes(type.shape(), type.dtype()));
    return most >= ops::worth_a_kernel;
  }

  std::optional<std::vector<Item>> zeros() const {
    const Tensor value = node_.attributes.get<Tensor>("value", Tensor::scalar(0.0F));
    const auto* bytes = static_cast<const std::byte*>(value.data());
    const bool zero =
        std::all_of(bytes, bytes + value.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
    if (!zero || value.dtype() == DType::string || bit_width(value.dtype()) < 8) return std::nullopt;
    Tensor made = mover_.allocate(types_[0].dtype(), types_[0].shape(), device());
    mover_.clear(place_of(made), made.bytes());
    return std::vector<Item>{Item(std::move(made))};
  }

  /// The node with the sizes of this run, in a graph of its own.
  Node& sized() {
    graph_ = std::make_unique<Graph>(node_.region()->graph().ops(), "late");
    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Tensor& tensor = items_[i].tensor;
      if (!arguments_[i])
        inputs.push_back(nullptr);
      else if (ops::moves_elements_of(node_, i))
        inputs.push_back(graph_->add_input(fmt::format("{}", i), Type(tensor.dtype(), tensor.shape())));
      else
        inputs.push_back(graph_->constant(tensor));
    }
    Node* made = graph_->body().create(node_.op(), inputs);
    made->attributes = node_.attributes;
    for (std::size_t k = 0; k < types_.size(); ++k) made->add_output(fmt::format("y{}", k), types_[k]);
    return *made;
  }

  std::optional<std::vector<Item>> by_kernel() {
    const Node& made = sized();
    for (const Backend* backend : program_.backends()) {
      if (backend->device() != device().kind) continue;
      for (const Tactic& tactic : backend->tactics(made, program_.target()).tactics)
        if (takes(made, tactic)) return launched(*backend, made, tactic);
    }
    return std::nullopt;
  }

  bool takes(const Node& made, const Tactic& tactic) const {
    bool right = tactic.kernel == "movement" || tactic.kernel == "index";
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (arguments_[i] && ops::moves_elements_of(node_, i))
        right = right && is_near(tactic.inputs.at(i), device());
    for (std::size_t k = 0; k < made.outputs().size(); ++k)
      right = right && is_near(tactic.outputs.at(k), device());
    return right;
  }

  std::vector<Item> launched(const Backend& backend, const Node& made, const Tactic& tactic) {
    std::vector<const Tensor*> constants;
    for (const Value* input : made.inputs()) constants.push_back(input ? input->constant() : nullptr);
    const auto kernel = backend.prepare(made, tactic, constants, program_.target());
    check(kernel->workspace() == 0, ErrorCode::internal, "kernel {} wants memory of its own", tactic.kernel);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!arguments_[i] || !ops::moves_elements_of(node_, i)) continue;
      items_[i].tensor = mover_.on(device(), items_[i].tensor);
      pointers_[i] = items_[i].tensor.data();
    }
    std::vector<Item> results;
    std::vector<void*> outputs;
    for (const Type& type : types_) {
      results.emplace_back(mover_.allocate(type.dtype(), type.shape(), device()));
      outputs.push_back(results.back().tensor.data());
    }
    kernel->launch({pointers_, outputs, nullptr, mover_.stream(), false});
    return results;
  }

  const Program& program_;
  const Node& node_;
  const Mover& mover_;
  std::vector<Item> items_;
  std::vector<const void*> pointers_;
  std::vector<const Item*> arguments_;
  std::vector<Type> types_;
  std::unique_ptr<Graph> graph_;
};

} // namespace

std::optional<std::vector<Item>> run_late(const Program& program, const Node& node,
                                          std::span<const Item* const> operands, const Mover& mover) {
  if (program.device().is_host()) return std::nullopt;
  return LateNode(program, node, operands, mover).run();
}

} // namespace lanner
