// Compares the cover that lowering chooses with all covers, by brute force.

#include "lower/choose/cover.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "graph/text/text.h"
#include "lowering/table_backend.h"
#include "ops/table/table.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

using test::TableBackend;
using Random = std::mt19937;

std::size_t below(std::size_t end, Random& random) {
  return random() % end;
}

/// Nodes that read earlier ones; softmax is not elementwise, so it is an anchor.
std::string random_graph(Random& random) {
  constexpr std::array<const char*, 4> kinds{"softmax", "relu", "exp", "add"};
  std::string body;
  std::vector<std::string> values{"%x"};
  const std::size_t nodes = 4 + below(4, random);
  for (std::size_t n = 0; n < nodes; ++n) {
    const std::string name = fmt::format("%v{}", n), kind = kinds[below(kinds.size(), random)];
    // Recent ones are likelier, which makes chains.
    const auto any = [&] {
      return values[values.size() - 1 - below(std::min<std::size_t>(3, values.size()), random)];
    };
    body += fmt::format("  {} = {}({}{})\n", name, kind, any(), kind == "add" ? ", " + any() : "");
    values.push_back(name);
  }
  std::string outputs = values.back();
  if (below(2, random) == 0) outputs += ", " + values[values.size() - 2];
  return fmt::format("graph @g(%x: f32[2, 3]) -> ({}) {{\n{}}}\n", outputs, body);
}

/// Costs of 1 to 9 for each kind in both axis orders, and groups that end in any of them.
std::string random_table(Random& random) {
  std::string table;
  const auto rules = [&](const std::string& kind, std::size_t inputs) {
    for (const char* layout : {"row", "ba"})
      if (std::string_view(layout) == "row" || below(3, random) > 0) {
        std::string read = layout;
        for (std::size_t i = 1; i < inputs; ++i) read += fmt::format(", {}", layout);
        table += fmt::format("// {}: {} -> {} = {}\n", kind, read, layout, 1 + below(9, random));
      }
  };
  for (const char* kind : {"softmax", "relu", "exp"}) rules(kind, 1);
  rules("add", 2);
  for (const char* first : {"softmax", "relu", "exp"})
    for (const char* second : {"relu", "exp"})
      if (below(2, random) == 0) {
        table += fmt::format("// fuses {}+{}\n", first, second);
        rules(fmt::format("{}+{}", first, second), 1);
        if (below(2, random) == 0) {
          table += fmt::format("// fuses {0}+{1}+add\n// fuses {0}+add\n// fuses {1}+add\n", first, second);
          rules(fmt::format("{}+{}+add", first, second), 2);
          rules(fmt::format("{}+add", first), 2);
        }
      }
  return table + "// reorder: row -> ba = 2\n// reorder: ba -> row = 2\n";
}

/// Any two or three nodes, unconnected ones and siblings included, at any cost.
std::string random_proposals(const std::string& text, Random& random) {
  const auto graph = parse_graph(text, builtin_op_table());
  std::vector<const Node*> nodes;
  for (const auto& node : graph->body().nodes()) nodes.push_back(node.get());
  std::string table;
  std::set<std::string> ruled;
  for (int i = 0; i < 4; ++i) {
    std::set<std::size_t> places;
    while (places.size() < 2 + below(2, random)) places.insert(below(nodes.size(), random));
    std::string names, kinds;
    for (const std::size_t place : places) {
      names += (names.empty() ? "" : ", ") + nodes[place]->output()->name();
      kinds += (kinds.empty() ? "" : "+") + nodes[place]->kind();
    }
    table += fmt::format("// proposes {}\n", names);
    if (ruled.insert(kinds).second)
      table += fmt::format("// {}: {} -> row = {}\n", kinds, below(2, random) ? "row" : "ba",
                           1 + below(15, random));
  }
  return table;
}

class Bench {
public:
  explicit Bench(Random& random, bool proposing = false)
      : text(random_graph(random)),
        table(random_table(random) + (proposing ? random_proposals(text, random) : "")),
        backend_("fast", table),
        tuner_(target_, 0, cache_, constants_, control_), options{backends_, target_, tuner_, constants_,
                                                                  control_},
        graph(test::parsed(text)), conversions(*graph, options) {
    proposals = offered_alternatives(*graph, options);
  }

  double cost_of(const std::vector<Taken>& cover) {
    std::map<const Value*, Storage> stored;
    double cost = 0;
    for (const Taken& taken : cover) {
      const Tactic& tactic = tactic_of(taken);
      cost += proposals[taken.proposal].list[taken.alternative].cost.seconds;
      const auto& outputs = proposals[taken.proposal].outputs;
      for (std::size_t o = 0; o < outputs.size(); ++o) stored[outputs[o]] = tactic.outputs[o];
    }
    for (const Taken& taken : cover) {
      const auto& inputs = proposals[taken.proposal].inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Value* value = inputs[i];
        if (value->producer() && !stored.contains(value)) return std::numeric_limits<double>::infinity();
        cost += value->producer() ? conversions(value->type, stored.at(value), tactic_of(taken).inputs[i])
                                  : conversions.from_caller(*value, tactic_of(taken).inputs[i]);
      }
    }
    const auto& results = graph->body().outputs();
    for (const Value* output : std::set<const Value*>(results.begin(), results.end())) {
      if (!stored.contains(output)) return std::numeric_limits<double>::infinity();
      cost += conversions.to_caller(*output, stored.at(output));
    }
    return cost;
  }

  /// Least cost of the covers with this prefix, node by node in execution order.
  double min_cost(std::vector<Taken> cover = {}, std::set<const Node*> covered = {}) {
    const auto& nodes = graph->body().nodes();
    const auto next =
        std::ranges::find_if(nodes, [&](const auto& node) { return !covered.contains(node.get()); });
    if (next == nodes.end()) return cost_of(cover);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < proposals.size(); ++p) {
      const NodeGroup& members = proposals[p].members;
      if (std::ranges::find(members, next->get()) == members.end()) continue;
      if (std::ranges::any_of(members, [&](const Node* node) { return covered.contains(node); })) continue;
      std::set<const Node*> more = covered;
      more.insert(members.begin(), members.end());
      for (std::size_t a = 0; a < proposals[p].list.size(); ++a) {
        std::vector<Taken> longer = cover;
        longer.push_back({p, a});
        least = std::min(least, min_cost(std::move(longer), more));
      }
    }
    return least;
  }

  std::string text, table;

private:
  const Tactic& tactic_of(const Taken& taken) const {
    return proposals[taken.proposal].list[taken.alternative].tactic;
  }

  TableBackend backend_;
  std::array<const Backend*, 1> backends_{&backend_};
  Target target_;
  TimingCache cache_;
  WeightStore constants_;
  Control control_;
  Tuner tuner_;

public:
  LowerOptions options;
  std::unique_ptr<Graph> graph;
  ConversionCosts conversions;
  std::vector<Proposal> proposals;
};

TEST(Cover, IsTheCheapestOfAllCovers) {
  Random random(7);
  int groups = 0, parts = 0;
  for (int round = 0; round < 300; ++round) {
    Bench bench(random);
    const std::vector<Taken> cover =
        cheapest_cover(bench.proposals, Estimates(bench.proposals), bench.options, bench.conversions);
    ASSERT_NEAR(bench.cost_of(cover), bench.min_cost(), 1e-12) << bench.text << bench.table;
    std::set<const Node*> grouped;
    for (const Taken& taken : cover)
      if (const Proposal& one = bench.proposals[taken.proposal]; one.is_group())
        grouped.insert(one.members.begin(), one.members.end()), ++groups;
    for (const Proposal& one : bench.proposals)
      if (one.is_group() &&
          std::ranges::none_of(one.members, [&](const Node* node) { return grouped.contains(node); }))
        ++parts;
  }
  // both groups and single nodes must have been chosen
  EXPECT_GT(groups, 50);
  EXPECT_GT(parts, 10);
}

TEST(Cover, IsTheCheapestWithGroupsProposedByBackends) {
  Random random(11);
  int taken_groups = 0, with_outputs = 0, untied = 0;
  for (int round = 0; round < 300; ++round) {
    Bench bench(random, true);
    const std::vector<Taken> cover =
        cheapest_cover(bench.proposals, Estimates(bench.proposals), bench.options, bench.conversions);
    ASSERT_NEAR(bench.cost_of(cover), bench.min_cost(), 1e-12) << bench.text << bench.table;
    for (const Taken& taken : cover) {
      const Proposal& one = bench.proposals[taken.proposal];
      if (!one.is_group()) continue;
      ++taken_groups;
      with_outputs += one.outputs.size() > 1;
      const auto inside = [&](const Value* value) {
        return value && std::ranges::count(one.members, value->producer()) > 0;
      };
      untied += std::ranges::none_of(
          one.members, [&](const Node* node) { return std::ranges::any_of(node->inputs(), inside); });
    }
  }
  // groups that only propose() finds must have been chosen
  EXPECT_GT(taken_groups, 50);
  EXPECT_GT(with_outputs, 20);
  EXPECT_GT(untied, 10);
}

} // namespace
} // namespace lanner
