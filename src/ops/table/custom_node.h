#pragma once
// Nodes and tensors in the form that custom operators see.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/layout.h>
#include <lanner/operator.h>
#include <lanner/tensor.h>

#include "graph/op.h"

namespace lanner {

/// The known facts of a node: its attributes and the types of its values. Throws Error{unsupported} for
/// values that lanner_value cannot express: sequences, strings, more than LANNER_MAX_DIMS dims.
class CustomNode {
public:
  explicit CustomNode(const Node& node); ///< With the types of all its values.
  explicit CustomNode(const InferContext& context);
  explicit CustomNode(const KernelContext& context);
  CustomNode(const CustomNode&) = delete;
  CustomNode& operator=(const CustomNode&) = delete;

  /// The node for a call; valid while this lives and until an output is set.
  lanner_node shown() const;
  const std::vector<lanner_value>& inputs() const noexcept { return inputs_; }
  const std::vector<lanner_value>& outputs() const noexcept { return outputs_; }
  /// Makes the outputs known.
  void set_outputs(std::vector<lanner_value> outputs) { outputs_ = std::move(outputs); }
  /// The input size with the negative `number`; null where there is none.
  const Dim* unknown(std::int64_t number) const;

private:
  void add_input(const Type* type, const Known* known, const Symbols* symbols);
  lanner_value value(const Type& type, const Symbols* symbols);
  void set_size(lanner_value& value, std::size_t d, const Dim& dim, const Symbols* symbols);

  std::string attributes_;
  std::size_t output_count_ = 0;
  std::vector<lanner_value> inputs_, outputs_;
  std::vector<Dim> unknown_; ///< By number, from -2 downwards.
  std::vector<std::vector<std::int64_t>> elements_;
};

/// A value of which nothing is known.
lanner_value unknown_value() noexcept;
/// The shape of a value whose sizes are all known.
Shape shape_of(const lanner_value& value);
bool is_known(const lanner_value& value) noexcept; ///< Whether its rank and all its sizes are known.

/// A tensor's description, valid as long as the operands made from it are used.
class CustomOperand {
public:
  CustomOperand() = default; ///< For an absent input.
  CustomOperand(DType type, const Shape& shape, std::string_view layout);
  lanner_operand at(const void* data) const;

private:
  lanner_operand form_{};
  std::string layout_;
  std::vector<std::int64_t> dims_, strides_;
};

} // namespace lanner
