#pragma once
// The different problems that networks give kernels.

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

/// A tactic and who offers it.
struct Offer {
  const Backend* backend = nullptr;
  Tactic tactic;
};

/// A node that is alone in a graph.
struct Problem {
  std::string key;       ///< Equal for problems of the same work at the same precisions.
  std::string text;      ///< In short: operators and shapes.
  std::string precision; ///< Name of the target's.
  std::unique_ptr<Graph> graph;
  const Node* node = nullptr;
  std::vector<const Backend*> backends; ///< Those that offer something.
  std::vector<Offer> offers;            ///< Those that are asked for; empty: all that are offered.
  std::set<std::string> networks;
  std::uint64_t uses = 0;
};

/// Where a problem comes from.
struct Origin {
  std::string network, precision;
  const Target& target;
};

/// Problems of lowered-to-be graphs, each once.
class Problems {
public:
  /// Every node that a backend runs, and the reorders between storages that are offered side by side.
  void add(const Graph& graph, const std::vector<Proposal>& proposals, const Origin& origin);
  /// One node with the tactics to try.
  void add(const Node& node, std::vector<Offer> offers, const Origin& origin);
  /// Most used first, else in the order in which they came.
  std::vector<const Problem*> sorted() const;

private:
  Problem& place(const Node& node, const Origin& origin);
  void add_reorders(const Graph& graph, const std::vector<Proposal>& proposals, const Origin& origin);
  void add_reorder(const Value& value, const Storage& from, const Storage& to, const Origin& origin);
  void add_conversion(std::string_view kind, const Form& from, const Form& to, const Origin& origin);

  std::vector<std::unique_ptr<Problem>> problems_;
  std::map<std::string, Problem*> by_key_;
};

/// Every tactic that is to be tried, a search's included; those that lowering could never take are left out.
std::vector<Offer> offers_of(const Problem& problem, const Target& target);

} // namespace lanner::sweep
