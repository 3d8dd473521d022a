#pragma once
// From a parse tree to a Graph: resolves names, fills regions, adds captures. Each format supplies its rules.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/error.h>
#include <lanner/limits.h>

#include "base/check.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "importers/import_graph.h"
#include "importers/importer.h"

namespace lanner {

class GraphBuilder;

/// One source node while it is converted.
class RuleContext {
public:
  RuleContext(GraphBuilder& builder, const ImportNode& node, std::int64_t version)
      : node(node), version(version), builder_(builder) {}

  const ImportNode& node;
  const std::int64_t version; ///< Of the node's operator set.

  std::size_t inputs() const noexcept { return node.inputs.size(); }
  bool has(std::size_t i) const { return input(i) != nullptr; }
  Value* input(std::size_t i) const;    ///< Null when absent.
  Value* required(std::size_t i) const; ///< Throws Error{bad_data} when absent.
  std::vector<Value*> all_inputs() const;
  const Tensor* constant(std::size_t i) const; ///< The input's tensor, when it is known at import.

  const std::vector<ImportNode>& model_nodes() const; ///< Of the outermost graph.
  const ImportOptions& options() const;

  bool has_attribute(std::string_view name) const { return node.attributes.contains(name); }
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  double real(std::string_view name, double fallback) const;
  std::string string(std::string_view name, std::string fallback) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback = {}) const;
  std::vector<double> reals(std::string_view name) const;
  DType dtype(std::string_view name) const; ///< By the format's number.
  const ImportAttribute::Value* attribute(std::string_view name) const;
  /// Attribute value of type T; `expected` names that type in the message. Error{bad_data} when missing or of
  /// another type.
  template<typename T>
  const T& get(std::string_view name, const char* expected) const {
    const auto* value = attribute(name);
    const T* held = value ? std::get_if<T>(value) : nullptr;
    if (!held)
      fail(ErrorCode::bad_data, "attribute {}: expected {}, {}", name, expected,
           value ? "got another kind" : "it is missing");
    return *held;
  }
  /// The node's attributes as the types that `op` declares, without those named. Unknown ones are
  /// Error{bad_data}.
  AttributeMap attributes(std::string_view op, std::initializer_list<std::string_view> without = {}) const;

  /// New nodes take the source node's name.
  Value* emit(std::string_view op, std::vector<Value*> inputs, AttributeMap attributes = {});
  Node* emit_node(std::string_view op, std::vector<Value*> inputs, AttributeMap attributes,
                  std::size_t outputs);
  Value* tensor(Tensor value);
  /// A tensor that the source model trains or lets users replace, as a source weight of that name; a single
  /// number is treated as a setting.
  Value* weight(const std::string& name, Tensor value);
  Value* ints(std::vector<std::int64_t> values); ///< A constant i64 list.
  Value* scalar(DType type, double value);       ///< A constant of rank 0.
  /// Fills region `r` of `owner` with a subgraph; `parameters` are the types of the operator's own
  /// parameters.
  void fill_region(Node& owner, Region& region, const ImportGraph& graph,
                   const std::vector<Type>& parameters);
  void infer(Node& owner); ///< After its regions are filled.
  /// Inlines the nodes of a subgraph on `arguments`; returns its outputs.
  std::vector<Value*> inline_graph(const ImportGraph& graph, const std::vector<Value*>& arguments);

  void set_output(std::size_t i, Value* value);
  void set_outputs(const Node& node);

private:
  GraphBuilder& builder_;
};

using Rule = std::function<void(RuleContext&)>;

/// Finds the rule of a source operator, or nothing.
using RuleFinder = std::function<Rule(const ImportNode& node)>;

/// What became of each node of a model when it was tried on its own.
struct NodeTrial {
  std::map<std::string, std::string, std::less<>> reasons; ///< Why a node cannot be converted, by its name.
  std::map<std::string, Type, std::less<>> types;          ///< Of values, by their names in the model.
};

/// The type of output `i` of a node that cannot be converted.
using UnconvertedType = std::function<Type(const ImportNode& node, std::size_t i)>;

/// Makes one Graph. Names are resolved scope by scope; a value that an inner graph uses from an outer one
/// becomes a capture.
class GraphBuilder {
public:
  /// Everything that does not depend on the format comes from `options`.
  GraphBuilder(const ImportModel& model, RuleFinder rules, const ImportOptions& options);
  std::unique_ptr<Graph> run();
  /// Converts each node of the outermost graph on its own; a failing one costs only itself: its outputs are
  /// then values of unknown content. Throws Error for what concerns the whole model, such as limits.
  NodeTrial try_nodes(const UnconvertedType& type_of);

private:
  friend class RuleContext;
  struct Scope {
    Scope* parent = nullptr;
    Node* owner =
        nullptr; ///< The node whose region this is; null for the graph's body and inlined functions.
    Region* region = nullptr;
    std::map<std::string, Value*, std::less<>> values;
    std::set<std::string, std::less<>>
        seen_outside; ///< Names in `values` that come from an outer scope: they may be shadowed.
    const std::map<std::string, std::int64_t>* opsets = nullptr;
    bool sealed = false; ///< A function's body cannot see outer scopes.
  };

  void begin(Scope& body);
  std::string try_node(const ImportNode& node);
  void report_initialisers();
  void check_overridden() const;
  void add_inputs();
  void add_outputs();
  void add_chosen_outputs();
  /// A value of the model by its own name, or by its node's name where the node has only one output.
  Value* chosen_output(const std::string& name);
  void add_nodes(const std::vector<ImportNode>& nodes);
  void add_node(const ImportNode& node);
  void inline_function(const ImportNode& node, const ImportFunction& function);
  void add_constants(const ImportGraph& graph);
  /// Makes `constant` the source weight of that name, where possible.
  void name_weight(Node& constant, const std::string& name);
  Value* find(Scope& scope, const std::string& name);
  bool is_visible(std::string_view name) const; ///< Whether a name is defined in this or an outer scope.
  Value* capture(Scope& scope, Value* outer);
  /// Rejects recursive functions: inlining them would never end.
  void check_ends(const ImportNode& node, const ImportFunction& function) const;
  Value* lookup(const std::string& name);          ///< Throws Error{bad_data} when absent.
  Value* lookup_optional(const std::string& name); ///< Null for an empty name and for a parameter that a
                                                   ///< function's caller left out.
  const ImportFunction* function_of(const ImportNode& node) const;
  int loops_around() const;
  void define(const std::string& name, Value* value);
  Node* create(std::string_view op, std::span<Value* const> inputs, AttributeMap attributes,
               std::size_t outputs);
  /// Without outputs, which the caller adds.
  Node* create_bare(const OpDef& op, std::span<Value* const> inputs, AttributeMap attributes);
  std::int64_t version_of(const std::string& domain) const;
  void collect_missing(const std::vector<ImportNode>& nodes,
                       std::map<std::string, std::vector<std::string>>& missing) const;

  const ImportModel& model_;
  const OpTable& ops_;
  RuleFinder rules_;
  const Limits& limits_;
  const ImportOptions& options_;
  const std::vector<std::string>& chosen_; ///< ImportOptions::outputs.
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<RunningInference> inference_;
  std::map<std::string, Tensor> weights_;                               ///< Weights named so far.
  std::map<const Node*, std::map<const Value*, std::size_t>> captures_; ///< Index of each capture, by node.
  std::vector<const ImportFunction*> calls_; ///< Functions being inlined, outermost first.
  Scope* scope_ = nullptr;
  const ImportNode* current_ = nullptr;
  std::uint32_t depth_ = 0;
  std::uint64_t visited_ = 0, created_ = 0; ///< Source nodes visited and graph nodes created.
};

/// A name for a value or graph from the file's own, cut to a bounded length.
std::string identifier(std::string_view text);

} // namespace lanner
