#pragma once
// Rewrite rules written as graphs.

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// `before` and `after` are texts of graphs with the same inputs and one output. Constants in `before` match
/// any rank; attributes that `before` leaves out match their defaults. Inner results of a match have no other
/// uses, and its result has the type of the first input, which every node of `after` gets too.
class Pattern {
public:
  Pattern(std::string_view before, std::string_view after);
  ~Pattern();
  Pattern(Pattern&&) noexcept;

  /// The operator of the last node of a match.
  const std::string& root() const;
  /// Replaces the graph that ends in `node` where it matches; the node then remains, without uses.
  bool apply(Node& node) const;

private:
  using Match = std::unordered_map<const Value*, Value*>;
  bool match(const Value& pattern, Value* value, Match& match, bool inner) const;
  bool match_inputs(const Node& pattern, const Node& node, Match& match, bool swapped) const;
  const Node& last() const;

  std::unique_ptr<Graph> before_, after_;
};

} // namespace lanner::passes
