#include "run/late_kernels.h"

#include <algorithm>
#include <array>

#include "base/limits/account.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "ops/movement/movement_rules.h"
#include "program/late_kernel.h"

namespace lanner {
namespace {

class LateNode {
public:
  LateNode(const Program& program, const Node& node, std::span<const Item* const> operands,
           const Transfers& transfers)
      : program_(program), node_(node), transfers_(transfers), items_(operands.size()),
        pointers_(operands.size(), nullptr) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i]) items_[i] = *operands[i];
      arguments_.push_back(operands[i] ? &items_[i] : nullptr);
    }
  }

  std::optional<std::vector<Item>> run() {
    if (!all_tensors() || !lies_right()) return std::nullopt;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (arguments_[i] && !ops::reads_elements_of(node_, i))
        items_[i].tensor = transfers_.on(Device{}, items_[i].tensor);
    types_ = infer_node(node_, arguments_);
    if (ops::finds_elements(node_)) return found();
    if (!std::ranges::all_of(types_, [](const Type& type) { return type.is_static(); })) return std::nullopt;
    if (!worth_it()) return std::nullopt;
    if (node_.kind() == "constant_of_shape") return zeros();
    return by_kernel();
  }

private:
  Device device() const { return program_.device(); }

  bool all_tensors() const {
    return node_.regions().empty() && ops::runs_late(node_) &&
           std::ranges::all_of(arguments_, [](const Item* item) {
             return !item || (item->tensor.defined() && item->tensor.dtype() != DType::string);
           });
  }

  std::uint64_t max_bytes_there() const {
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (arguments_[i] && items_[i].tensor.device() == device())
        most = std::max(most, items_[i].tensor.bytes());
    return most;
  }

  /// Whether elements are on the GPU; what is computed from host elements is computed on the host.
  bool lies_right() const {
    return ops::moves_elements(node_) || max_bytes_there() >= ops::min_bytes_there(node_);
  }

  /// Whether operands on the device and results are large enough.
  bool worth_it() const {
    std::uint64_t most = max_bytes_there();
    for (const Type& type : types_)
      if (type.dtype() != DType::string) most = std::max(most, Layout{}.bytes(type.shape(), type.dtype()));
    return most >= ops::min_bytes_there(node_);
  }

  std::optional<std::vector<Item>> zeros() const {
    const Tensor value = node_.attributes.get<Tensor>("value", Tensor::scalar(0.0F));
    const auto* bytes = static_cast<const std::byte*>(value.data());
    const bool zero =
        std::all_of(bytes, bytes + value.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
    if (!zero || value.dtype() == DType::string || bit_width(value.dtype()) < 8) return std::nullopt;
    Tensor made = transfers_.allocate(types_[0].dtype(), types_[0].shape(), device());
    transfers_.clear(location_of(made), made.bytes());
    return std::vector<Item>{Item(std::move(made))};
  }

  std::optional<std::vector<Item>> by_kernel() {
    const auto made = kernel();
    if (!made) return std::nullopt;
    std::vector<Item> results;
    std::vector<void*> outputs;
    for (const Type& type : types_) {
      results.emplace_back(transfers_.allocate(type.dtype(), type.shape(), device()));
      outputs.push_back(results.back().tensor.data());
    }
    launch(*made->kernel, outputs);
    return results;
  }

  /// Runs a kernel that also counts its results. The worst-case allocation is kept if most of it is used.
  std::optional<std::vector<Item>> found() {
    const ops::Room room = ops::room_of(node_, tensors());
    const DType type = types_.at(0).dtype();
    const std::uint64_t bytes = Layout{}.bytes(room.shape, type);
    if (bytes == 0 || bytes > current_limits().tensor_bytes) return std::nullopt;
    types_ = {Type(type, room.shape)};
    const auto made = kernel();
    if (!made) return std::nullopt;
    Tensor all = transfers_.allocate(type, room.shape, device()),
           count = transfers_.allocate(DType::i64, {}, device());
    const std::array<void*, 2> outputs{all.data(), count.data()};
    launch(*made->kernel, outputs);
    Shape shape = room.shape;
    shape[room.axis] = transfers_.on(Device{}, count).as<std::int64_t>()[0];
    const Tensor there = Tensor::wrap(all.data(), type, shape, all.owner(), {}, device());
    return std::vector<Item>{Item(there.bytes() < bytes / 2 ? transfers_.clone(there) : there)};
  }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < items_.size(); ++i)
      tensors.push_back(arguments_[i] ? items_[i].tensor : Tensor{});
    return tensors;
  }

  std::optional<LateKernel> kernel() const {
    return make_late_kernel(node_, tensors(), types_, program_.backends(), program_.target());
  }

  void launch(const Kernel& kernel, std::span<void* const> outputs) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!arguments_[i] || !is_late_operand(node_, i)) continue;
      items_[i].tensor = transfers_.on(device(), items_[i].tensor);
      pointers_[i] = items_[i].tensor.data();
    }
    Tensor workspace;
    if (const std::size_t bytes = kernel.workspace())
      workspace = transfers_.allocate(DType::u8, {static_cast<std::int64_t>(bytes)}, device());
    kernel.launch({pointers_, outputs, workspace.data(), transfers_.stream(), false});
  }

  const Program& program_;
  const Node& node_;
  const Transfers& transfers_;
  std::vector<Item> items_;
  std::vector<const void*> pointers_;
  std::vector<const Item*> arguments_;
  std::vector<Type> types_;
};

} // namespace

std::optional<std::vector<Item>> run_late(const Program& program, const Node& node,
                                          std::span<const Item* const> operands, const Transfers& transfers) {
  if (program.device().is_host()) return std::nullopt;
  return LateNode(program, node, operands, transfers).run();
}

} // namespace lanner
