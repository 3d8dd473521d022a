#include "backends/custom/custom_kernel.h"

namespace lanner {

CustomKernel::CustomKernel(const Node& node, const CustomOperator& op,
                           std::unique_ptr<const CustomNode> shown, CustomCombination combination,
                           std::span<const std::byte> state)
    : op_(op), node_(std::move(shown)), combination_(std::move(combination)),
      state_(state.begin(), state.end()) {
  for (std::size_t i = 0; i < node.own_inputs().size(); ++i) {
    const lanner_storage& storage = combination_.inputs.at(i);
    inputs_.push_back(node.input(i) ? CustomOperand(static_cast<DType>(storage.dtype),
                                                    node.input(i)->type.shape(), storage.layout)
                                    : CustomOperand());
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const lanner_storage& storage = combination_.outputs.at(i);
    outputs_.emplace_back(static_cast<DType>(storage.dtype), node.output(i)->type.shape(), storage.layout);
  }
  workspace_ = op_.workspace(*node_, combination_.kernel);
  idle_.push_back(make_seat());
}

std::unique_ptr<CustomKernel::Seat> CustomKernel::make_seat() const {
  CustomInstance instance = op_.serialises() ? op_.create(*node_, combination_.kernel, state_)
                                             : op_.create(*node_, combination_.kernel);
  auto seat = std::make_unique<Seat>(Seat{std::move(instance), {}, {}});
  seat->inputs.resize(inputs_.size());
  seat->outputs.resize(outputs_.size());
  return seat;
}

std::unique_ptr<CustomKernel::Seat> CustomKernel::take() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Seat> seat = std::move(idle_.back());
      idle_.pop_back();
      return seat;
    }
  }
  return make_seat();
}

void CustomKernel::give(std::unique_ptr<Seat> seat) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(seat));
}

/// An instance whose run failed is discarded.
void CustomKernel::launch(const Launch& launch) const {
  std::unique_ptr<Seat> seat = take();
  for (std::size_t i = 0; i < inputs_.size(); ++i) seat->inputs[i] = inputs_[i].at(launch.inputs[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i) seat->outputs[i] = outputs_[i].at(launch.outputs[i]);
  op_.run(seat->instance, seat->inputs, seat->outputs, launch.workspace, launch.stream.handle);
  give(std::move(seat));
}

} // namespace lanner
