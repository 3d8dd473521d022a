#pragma once
// How a constant is computed from source weights of the model, by name.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner {

/// How a constant follows from source weights. Empty: a literal, stored as it is.
struct Recipe {
  std::string weight; ///< The source weight that equals the constant.
  /// Or a graph as text, whose inputs have the names of the source weights that it reads and whose only
  /// output is the constant. Without an output: it depends on these weights in a way that is not recorded;
  /// the graph's name then contains a digest of the value.
  std::string expression;

  bool literal() const noexcept { return weight.empty() && expression.empty(); }
  bool lost() const { return expression.find(") -> () {") != std::string::npos; }
  friend bool operator==(const Recipe&, const Recipe&) = default;
  friend auto operator<=>(const Recipe&, const Recipe&) = default;
};

/// The recipe of a `constant` node, stored in its attributes `weight` and `recipe`.
Recipe recipe_of(const Node& constant);
void set_recipe(Node& constant, const Recipe& recipe);
/// Whether a tensor of a model may become a source weight: numbers that no size can depend on.
bool can_be_weight(const Tensor& tensor);

/// The recipe of each output of a node whose inputs are constants, from theirs. Null: they read more source
/// weights than one recipe may name, so the node's results cannot become constants.
std::optional<std::vector<Recipe>> recipes_of_results(const Node& node);

/// The source weights that a constant of this type reads, with their types. Throws Error{bad_data} for an
/// invalid expression.
std::map<std::string, Type> sources_of(const Recipe& recipe, const Type& type, const OpTable& ops,
                                       const Limits& limits = {});

/// Records that a graph is valid only for the current values of this constant's sources, because they decided
/// what is computed.
void note_decided(Graph& graph, const Value* constant);
/// The source weights recorded by note_decided().
std::set<std::string> decided_weights(const Graph& graph);

} // namespace lanner
