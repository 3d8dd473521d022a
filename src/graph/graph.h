#pragma once
// The intermediate representation: a graph of nodes in nested regions.

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/attribute.h"
#include "graph/storage/storage.h"
#include "graph/type/type.h"

namespace lanner {

struct OpDef;
class Charge;
class OpTable;
class Graph;
class Node;
class Region;

/// One use of a value: as input `index` of `node`, or, where `node` is null, as output `index` of `region`.
struct Use {
  Node* node = nullptr;
  Region* region = nullptr;
  std::size_t index = 0;
  friend bool operator==(const Use&, const Use&) = default;
};

/// A result of a node or a parameter of a region, which owns it; its address stays the same while it lives.
class Value {
public:
  Type type;
  Storage storage;

  const std::string& name() const noexcept { return name_; } ///< Unique in the graph; without the `%`.
  Node* producer() const noexcept { return producer_; }      ///< Null for a region's parameter.
  Region* region() const noexcept { return region_; }        ///< Where it is defined.
  std::size_t index() const noexcept { return index_; }      ///< Output or parameter number.
  std::span<const Use> uses() const noexcept { return uses_; }
  bool unused() const noexcept { return uses_.empty(); }
  /// Replaces this value by `other` in every use.
  void replace_all_uses(Value* other);
  /// The tensor of a `constant` node, else null.
  const Tensor* constant() const;

private:
  friend class Node;
  friend class Region;
  friend class Graph;
  std::uint32_t add_use(Use use); ///< Returns its index in the list.
  void drop_use(std::uint32_t index);
  std::string name_;
  Node* producer_ = nullptr;
  Region* region_ = nullptr;
  std::size_t index_ = 0;
  std::vector<Use> uses_;
  std::uint64_t counted_ = 0; ///< Its bytes in the graph's charge.
};

/// The most streams that the steps of one run may be spread over.
inline constexpr int max_streams = 4;

/// The kernel that lowering chose for a node; empty before lowering.
struct TacticChoice {
  std::string backend, kernel;
  std::vector<std::byte> config;
  double seconds = 0; ///< Measured at build, 0 when chosen by heuristics.
  bool chosen() const noexcept { return !backend.empty(); }
  friend bool operator==(const TacticChoice&, const TacticChoice&) = default;
};

/// An application of an operator. Inputs are the operator's own, then `captures()` values of outer regions;
/// every region of the node has the operator's own parameters first, then one parameter for each capture in
/// the same order.
class Node {
public:
  AttributeMap attributes;
  std::vector<std::string> sources; ///< Names of the source model's nodes that it represents.
  TacticChoice tactic;

  /// The stream of a run that it goes to, see program/schedule.h; 0 except for nodes of a lowered graph's
  /// body whose branches run concurrently.
  int stream() const noexcept { return stream_; }
  void set_stream(int stream) noexcept { stream_ = stream; }

  const OpDef& op() const noexcept { return *op_; }
  const std::string& kind() const noexcept; ///< The operator's name.
  Region* region() const noexcept { return region_; }
  std::string label() const; ///< For messages: source name if any, else `kind %out`.

  std::span<Value* const> inputs() const noexcept {
    return inputs_;
  } ///< Including captures. An absent optional input is null.
  std::size_t captures() const noexcept { return captures_; }
  std::span<Value* const> own_inputs() const noexcept { return inputs().first(inputs_.size() - captures_); }
  Value* input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  void set_input(std::size_t i, Value* value);
  void add_input(Value* value);     ///< Before the captures.
  void add_capture(Value* value);   ///< Adds the matching parameter to each region too.
  void remove_input(std::size_t i); ///< One of the operator's own; those after it move up.
  /// `i` counts captures only; their parameters in the regions must be unused, and are removed.
  void remove_capture(std::size_t i);

  std::span<const std::unique_ptr<Value>> outputs() const noexcept { return outputs_; }
  Value* output(std::size_t i = 0) const { return outputs_.at(i).get(); }
  Value* add_output(std::string_view name, Type type);

  std::span<const std::unique_ptr<Region>> regions() const noexcept { return regions_; }
  Region& add_region(); ///< With a parameter for each of the node's captures.

  /// Updates the graph's charge after changes of the node's attributes, names and types.
  void recount();

private:
  friend class Region;
  friend class Graph;
  friend class Value;
  void insert_input(std::size_t index, Value* value);
  void erase_input(std::size_t i);
  void release_outputs();
  const OpDef* op_ = nullptr;
  Region* region_ = nullptr;
  std::vector<Value*> inputs_;
  std::vector<std::uint32_t> use_indices_; ///< By input: its index in the value's list of uses.
  std::size_t captures_ = 0;
  std::vector<std::unique_ptr<Value>> outputs_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::list<std::unique_ptr<Node>>::iterator position_;
  std::uint64_t counted_ = 0; ///< Its bytes in the graph's charge, without its outputs.
  int stream_ = 0;
};

/// Nodes in execution order, with parameters and outputs. Values of outer regions are visible only through
/// captures.
class Region {
public:
  using Nodes = std::list<std::unique_ptr<Node>>;

  Graph& graph() const noexcept { return *graph_; }
  Node* owner() const noexcept { return owner_; } ///< Null for a graph's body.
  std::span<const std::unique_ptr<Value>> parameters() const noexcept { return parameters_; }
  Value* parameter(std::size_t i) const { return parameters_.at(i).get(); }
  Value* add_parameter(std::string_view name, Type type); ///< Before the parameters of captures.
  void remove_parameter(std::size_t i);                   ///< Must be unused; not a capture's.

  std::span<Value* const> outputs() const noexcept { return outputs_; }
  void add_output(Value* value);
  void set_output(std::size_t i, Value* value);
  void remove_output(std::size_t i); ///< Those after it move up. For a graph's body use Graph::remove_output.

  const Nodes& nodes() const noexcept { return nodes_; }
  Node* previous(const Node* node) const; ///< Null for the first.
  Node* next(const Node* node) const;     ///< Null for the last.
  /// Creates a node without outputs before `before` (null: at the end).
  Node* create(const OpDef& op, std::span<Value* const> inputs, Node* before = nullptr);
  /// Removes a node whose outputs are unused.
  void erase(Node* node);
  void move_before(Node* node, Node* before); ///< Within the region; null: to the end.

private:
  friend class Graph;
  friend class Node;
  friend class Value;
  Value* insert_parameter(std::size_t index, std::string_view name, Type type);
  void erase_parameter(std::size_t i);
  void release_all();
  Graph* graph_ = nullptr;
  Node* owner_ = nullptr;
  std::vector<std::unique_ptr<Value>> parameters_;
  std::vector<Value*> outputs_;
  std::vector<std::uint32_t> use_indices_; ///< By output: its index in the value's list of uses.
  Nodes nodes_;
};

/// A function from named inputs to named outputs, its symbols and the operators it may use. Its nodes and
/// values are charged to the account of the thread that makes the graph (base/limits/account.h): an addition
/// that throws Error{limit_exceeded} leaves the graph unchanged.
class Graph {
public:
  explicit Graph(const OpTable& ops, std::string name = "main");
  ~Graph();
  Graph(Graph&&) = delete;

  std::string name;
  Symbols symbols;
  std::map<std::string, std::string>
      metadata; ///< The model's own metadata: producer, task, labels, preprocess.

  const OpTable& ops() const noexcept { return *ops_; }
  Region& body() noexcept { return *body_; }
  const Region& body() const noexcept { return *body_; }

  Value* add_input(std::string_view name, Type type) { return body_->add_parameter(name, std::move(type)); }
  void add_output(std::string name, Value* value);
  void remove_output(std::size_t i);
  std::span<const std::string> output_names() const noexcept { return output_names_; }
  Value* find(std::string_view name) const; ///< Any value of the graph by name, or null.

  /// An unused name, `hint` itself if free.
  std::string unique_name(std::string_view hint);
  void rename(Value* value, std::string_view hint);
  /// A symbol for an unknown size, at most `upper`.
  Dim fresh_symbol(std::string_view hint, std::int64_t upper);

  /// Appends (or inserts) a node with one output.
  Value* emit(std::string_view op, std::span<Value* const> inputs, AttributeMap attributes, Type type,
              std::string_view hint = {}, Node* before = nullptr);
  Value* constant(Tensor value, std::string_view hint = "c", Node* before = nullptr);

  /// Deep copy; constants share memory. With bindings, symbols are replaced by values.
  std::unique_ptr<Graph> clone(const Bindings& bindings = {}) const;
  std::size_t node_count() const; ///< Regions included.
  /// Updates the charge after changes of the symbols and the metadata.
  void recount();
  std::uint64_t bytes() const noexcept {
    return bytes_;
  } ///< Bytes charged, without the elements of constants.

private:
  friend class Node;
  friend class Region;
  void claim(Value& value, std::string_view hint);
  void release(const Value& value);
  /// Sets `counted` to `bytes`, and adjusts the charge.
  void count(std::uint64_t& counted, std::uint64_t bytes);

  const OpTable* ops_;
  std::unique_ptr<Region> body_;
  std::vector<std::string> output_names_;
  std::unordered_set<std::string> taken_names_; ///< Names of outputs.
  std::map<std::string, Value*, std::less<>> values_;
  std::uint64_t next_name_ = 0;
  std::unique_ptr<Charge> charge_;
  std::uint64_t bytes_ = 0, counted_ = 0; ///< The total, and the share of symbols, names and metadata.
};

} // namespace lanner
