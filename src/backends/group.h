#pragma once
// A uniform view of what a kernel is to compute: a plain node, the body of a `fused` node, or nodes that may
// be fused.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner {

/// Source of an operation's input.
struct Operand {
  enum class From : std::uint8_t {
    absent,   ///< An optional input that is not given.
    input,    ///< Input `index` of the group.
    op,       ///< Output 0 of operation `index` of the group.
    constant, ///< A constant inside the group.
  };
  From from = From::absent;
  std::size_t index = 0;
  const Value* value = nullptr; ///< Its type; null when absent.
  const Tensor* constant =
      nullptr; ///< Its elements where they are known: inner constants, and constant inputs.

  bool is_input() const noexcept { return from == From::input; }
  bool is_op() const noexcept { return from == From::op; }
  explicit operator bool() const noexcept { return from != From::absent; }
  Shape shape() const { return value->type.shape(); }
  DType dtype() const { return value->type.dtype(); }
};

/// An operation of a group, in execution order.
struct GroupOp {
  const Node* node = nullptr;
  std::vector<Operand> inputs;

  const std::string& kind() const { return node->kind(); }
  const AttributeMap& attributes() const { return node->attributes; }
  Operand input(std::size_t i) const { return i < inputs.size() ? inputs[i] : Operand{}; }
  const Type& type() const { return node->output()->type; }
};

/// A flat list of operations with external inputs and outputs. Input `i` of a group made from a node is the
/// node's input `i`. Holds pointers into the graph it was made from.
class Group {
public:
  /// A plain node, or a `fused` node's body. Empty `ops()` with `reason()` set when the body is not such a
  /// list (nested regions, an operation whose second output is used, types that are not static tensors).
  static Group of(const Node& node);
  /// The candidate group that fusion asks about. Its inputs are numbered by first use, its output is the last
  /// node's.
  static Group of(std::span<const Node* const> nodes);

  const std::vector<GroupOp>& ops() const noexcept { return ops_; }
  const std::vector<Operand>& outputs() const noexcept { return outputs_; }
  const std::vector<const Value*>& inputs() const noexcept { return inputs_; } ///< Null where absent.
  const std::string& reason() const noexcept { return reason_; }
  bool empty() const noexcept { return ops_.empty(); }
  std::size_t uses_of_op(std::size_t index) const; ///< Uses by operations and as outputs.

private:
  void add(const Node& node, std::span<const Operand> operands);
  void reject(std::string reason);

  std::vector<GroupOp> ops_;
  std::vector<Operand> outputs_;
  std::vector<const Value*> inputs_;
  std::string reason_;
};

/// The single element of `tensor` as a float, when it is one float.
std::optional<float> scalar_value(const Tensor* tensor);

} // namespace lanner
