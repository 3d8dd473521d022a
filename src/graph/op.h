#pragma once
// Operators: what a node computes. A table value, not a registry.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/item.h>
#include <lanner/tensor.h>

#include "graph/attribute.h"
#include "graph/graph.h"
#include "graph/operands.h"
#include "graph/traits.h"
#include "graph/type/type.h"

namespace lanner {

struct AttributeSpec {
  std::string name;
  AttributeKind kind;
  bool required = false;
  std::optional<Attribute> fallback; ///< The default of an absent attribute, where it is one value.
  AttributeRule rule = {};
};

/// What inference knows of a value: the whole tensor, or for a small integer tensor each element as an
/// expression.
struct Known {
  std::optional<Tensor> tensor;
  std::optional<Dims>
      elements; ///< Row-major; set for integer tensors of at most 64 elements, also when `tensor` is.
};
inline constexpr std::int64_t max_known_elements = 64;
/// The tensor, and its elements where it is small and of integers.
Known known_tensor(Tensor tensor);

/// Inputs and results of shape inference for one node. An operator has one inference function, for symbolic
/// graphs and for the concrete shapes of a run. Failures are Error{invalid_argument} without the node's name,
/// which the caller adds.
class InferContext {
public:
  virtual ~InferContext() = default;
  virtual const Node& node() const = 0;
  const AttributeMap& attributes() const { return node().attributes; }

  virtual std::size_t inputs() const = 0; ///< The operator's own, including absent ones, without captures.
  virtual bool has(std::size_t i) const = 0;
  virtual const Type& input(std::size_t i) const = 0; ///< Error{invalid_argument} when absent.
  virtual const Known& known(std::size_t i) const = 0;

  virtual std::size_t outputs() const = 0;
  virtual void set_output(std::size_t i, Type type) = 0;
  virtual void set_known(std::size_t i, Known known) = 0;
  /// A size known only during the run, at most `upper`.
  virtual Dim fresh(std::string_view hint, const Dim& upper) = 0;
  /// Infers region `r` with these parameter types (the operator's own) and returns its outputs' types.
  virtual std::vector<Type> infer_region(std::size_t r, std::span<const Type> parameters) = 0;
};

/// Inputs and results of a reference kernel. Tensors are row-major on the host.
class KernelContext {
public:
  virtual ~KernelContext() = default;
  virtual const Node& node() const = 0;
  const AttributeMap& attributes() const { return node().attributes; }

  virtual std::size_t inputs() const = 0;
  virtual bool has(std::size_t i) const = 0;
  virtual const Tensor& input(std::size_t i) const = 0;
  virtual const Item& item(std::size_t i) const = 0;

  virtual std::size_t outputs() const = 0;
  virtual bool wanted(std::size_t i) const = 0; ///< Whether output i has readers.
  /// The output tensor, allocated with the inferred type; Error{internal} when its shape is not known before
  /// the kernel runs.
  virtual Tensor& output(std::size_t i) = 0;
  /// The output, allocated with a shape that the kernel found.
  virtual Tensor& allocate(std::size_t i, DType type, Shape shape) = 0;
  virtual void set_item(std::size_t i, Item item) = 0;
  /// Runs region `r` on the operator's own parameters; captures are added.
  virtual std::vector<Item> run_region(std::size_t r, std::span<const Item> parameters) = 0;
  virtual int threads() const = 0;
};

/// Rewrites one node into others.
struct ExpandContext {
  Graph& graph;
  Node& node;                  ///< New nodes go before it.
  std::vector<Value*> results; ///< Filled by the expansion: one for each output.
};

/// The definition of an operator. ONNX's operators have their newest name in snake_case without a domain
/// (`conv`, `batch_normalization`); others are `domain.name` (`tf.bias_add`).
struct OpDef {
  static constexpr int any = -1;

  std::string name;
  int min_inputs = 0, max_inputs = 0; ///< `any` for variadic.
  int min_outputs = 1, max_outputs = 1;
  int regions = 0;
  std::vector<OperandSpec> operands = {}; ///< By input. Empty: no rules, as for user-defined operators.
  std::vector<AttributeSpec> attributes = {};
  std::function<void(InferContext&)> infer;
  std::function<void(KernelContext&)> reference; ///< Null when `expand` defines it.
  std::function<void(ExpandContext&)> expand;    ///< Null when `reference` defines it. Never both.

  bool elementwise =
      false;         ///< Each output element depends only on the broadcast input elements at the same index.
  bool view = false; ///< Output 0 holds input 0's elements in the same row-major order.
  bool pure = true;  ///< Deterministic without side effects: may be folded, merged, dropped.
  Traits traits = {};
};

/// The pattern of a node's operator.
inline Pattern pattern_of(const Node& node) {
  return node.op().traits.pattern;
}
/// Whether its result is the value of an attribute.
inline bool is_constant(const Node& node) {
  return pattern_of(node) == Pattern::constant;
}
/// Whether one kernel computes the nodes of its region.
inline bool is_group(const Node& node) {
  return pattern_of(node) == Pattern::group;
}
/// Whether it changes only a value's storage.
inline bool is_conversion(const Node& node) {
  return pattern_of(node) == Pattern::conversion;
}
/// Whether elements are only moved or cast: any storage type works.
inline bool only_moves(const Node& node) {
  return node.op().view || pattern_of(node) == Pattern::movement || is_constant(node) || is_conversion(node);
}

/// The operators that a graph may use, by name. A value: copy it and add to it.
class OpTable {
public:
  /// Throws Error{invalid_argument} when the name is taken.
  void add(OpDef op);
  void add(std::vector<OpDef> ops);
  const OpDef* find(std::string_view name) const;
  const OpDef& get(std::string_view name) const; ///< Throws Error{unsupported} with the nearest names.
  std::vector<std::string> names() const;

private:
  std::map<std::string, std::shared_ptr<const OpDef>, std::less<>> ops_;
};

} // namespace lanner
