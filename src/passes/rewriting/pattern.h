#pragma once
// Rewrite rules written as graphs.

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// `before` and `after` are texts of graphs with the same inputs and one output; constants in `before` stand
/// for numbers, whatever their rank, and attributes that `before` leaves out for their fallbacks. All inner
/// results of a match are used by nothing else, and its result has the type of the first input, which every
/// node of `after` has too.
class Pattern {
public:
  Pattern(std::string_view before, std::string_view after);
  ~Pattern();
  Pattern(Pattern&&) noexcept;

  /// The operator of the node that a match ends with.
  const std::string& root() const;
  /// Replaces the graph that ends in `node` where it matches; it is still there on return, without uses.
  bool apply(Node& node) const;

private:
  using Match = std::unordered_map<const Value*, Value*>;
  bool match(const Value& pattern, Value* value, Match& match, bool inner) const;
  bool match_inputs(const Node& pattern, const Node& node, Match& match, bool swapped) const;
  const Node& last() const;

  std::unique_ptr<Graph> before_, after_;
};

} // namespace lanner::passes
