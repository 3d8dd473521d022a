#pragma once
// A kernel of a custom operator, with one instance per concurrent launch.

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "graph/backend.h"
#include "ops/table/custom.h"

namespace lanner {

class CustomKernel final : public Kernel {
public:
  /// Creates the first instance: from `state` where the operator serialises. `op` is owned by the node's
  /// definition.
  CustomKernel(const Node& node, const CustomOperator& op, std::unique_ptr<const CustomNode> shown,
               CustomCombination combination, std::span<const std::byte> state);

  std::size_t workspace() const override { return workspace_; }
  bool on_stream() const override { return combination_.kernel.device != LANNER_CPU; }
  /// Whether the operator only queues work is unknown.
  bool recordable() const override { return false; }
  void launch(const Launch& launch) const override;

private:
  /// An instance with the operands of its launch.
  struct Seat {
    CustomInstance instance;
    std::vector<lanner_operand> inputs, outputs;
  };
  std::unique_ptr<Seat> make_seat() const;
  std::unique_ptr<Seat> take() const;
  void give(std::unique_ptr<Seat> seat) const;

  const CustomOperator& op_;
  std::unique_ptr<const CustomNode> node_;
  CustomCombination combination_;
  std::vector<std::byte> state_;
  std::vector<CustomOperand> inputs_, outputs_; ///< Shapes and types, without data.
  std::size_t workspace_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Seat>> idle_;
};

} // namespace lanner
