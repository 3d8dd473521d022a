#pragma once
// The distinct problems of networks for kernels.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "lower/propose/alternatives.h"
#include "lower/propose/conversions.h"

namespace lanner::sweep {

/// A tactic and its backend.
struct Offer {
  const Backend* backend = nullptr;
  Tactic tactic;
};

/// A node alone in a graph.
struct Problem {
  std::string key;       ///< Equal for problems of the same work at the same precisions.
  std::string text;      ///< Short text: operators and shapes.
  std::string precision; ///< Name of the target's.
  std::unique_ptr<Graph> graph;
  const Node* node = nullptr;
  std::vector<const Backend*> backends; ///< Backends with offers.
  std::vector<Offer> offers;            ///< The tactics to test; empty: all that are offered.
  std::set<std::string> networks;
  std::uint64_t uses = 0;
};

/// Origin of a problem.
struct Origin {
  std::string network, precision;
  const Target& target;
};

/// Problems of graphs before lowering, each once.
class Problems {
public:
  /// Adds every node that a backend runs, and the reorders between offered storages.
  void add(const Graph& graph, const std::vector<Proposal>& proposals, const Origin& origin);
  /// Adds one node with the tactics to test.
  void add(const Node& node, std::vector<Offer> offers, const Origin& origin);
  /// Most used first, then in order of insertion.
  std::vector<const Problem*> sorted() const;

private:
  Problem& place(const Node& node, const Origin& origin);
  void add_reorders(const Graph& graph, const std::vector<Proposal>& proposals, const Origin& origin);
  void add_reorder(const Value& value, const Storage& from, const Storage& to, const Origin& origin);
  void add_conversion(std::string_view kind, const Form& from, const Form& to, const Origin& origin);

  std::vector<std::unique_ptr<Problem>> problems_;
  std::map<std::string, Problem*> by_key_;
};

/// Every tactic to test, those of a search included, without those that lowering could never use.
std::vector<Offer> offers_of(const Problem& problem, const Target& target);

} // namespace lanner::sweep
