#pragma once
// What a constant is made of: source weights of the model, by name.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner {

/// How a constant follows from source weights. Nothing: a literal, which is its own source.
struct Recipe {
  std::string weight; ///< The source weight that the constant is.
  /// Or a graph as text, whose inputs have the names of the source weights that it reads and whose only
  /// output is the constant. Without an output: it comes of these weights in a way that is not kept; the
  /// graph's name then holds a digest of the value.
  std::string expression;

  bool literal() const noexcept { return weight.empty() && expression.empty(); }
  bool lost() const { return expression.find(") -> () {") != std::string::npos; }
  friend bool operator==(const Recipe&, const Recipe&) = default;
  friend auto operator<=>(const Recipe&, const Recipe&) = default;
};

/// Of a `constant` node, which carries it in the attributes `weight` and `recipe`.
Recipe recipe_of(const Node& constant);
void set_recipe(Node& constant, const Recipe& recipe);
/// Whether a tensor of a model may become a source weight: numbers from which no size can follow.
bool can_be_weight(const Tensor& tensor);

/// The recipe of each output of a node whose inputs are constants, from theirs. Null: they read more source
/// weights than one recipe names, so that the node's results can be no constants.
std::optional<std::vector<Recipe>> recipes_of_results(const Node& node);

/// The source weights that a constant of this type reads, with their types. Throws Error{bad_data} for an
/// expression that is none.
std::map<std::string, Type> sources_of(const Recipe& recipe, const Type& type, const OpTable& ops,
                                       const Limits& limits = {});

/// Says that a graph is right only for the values that the sources of this constant have now, which decided
/// what is computed.
void note_decided(Graph& graph, const Value* constant);
/// The source weights of which that was said.
std::set<std::string> decided_weights(const Graph& graph);

} // namespace lanner
