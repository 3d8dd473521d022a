#include "builder/open_dims.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "engine/context/given_shapes.h"
#include "graph/op.h"
#include "ops/traits.h"

namespace lanner {
namespace {

struct Requirement {
  Dim dim;
  std::optional<std::int64_t> size;
};

/// The dim of a node's first input that its second input determines.
std::optional<Requirement> requirement(const Node& node) {
  const auto& summed = node.op().traits.summed;
  if (!summed || node.own_inputs().size() < 2) return std::nullopt;
  const std::optional<SummedAxis> axis = summed(node);
  if (!axis) return std::nullopt;
  return Requirement{node.input(0)->type.dims()[axis->axis], axis->size.constant()};
}

bool is_open(const Graph& graph, const Dim& dim) {
  const auto name = dim.as_symbol();
  if (!name) return false;
  const auto symbol = graph.symbols.find(*name);
  return symbol == graph.symbols.end() || (symbol->second.opt < 0 && symbol->second.min < symbol->second.max);
}

/// Symbols of the inputs' dims without a size.
std::set<std::string> open_symbols(const Graph& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.body().parameters()) {
    if (!ops::has_rank(input.get(), 0)) continue;
    for (const Dim& dim : input->type.dims())
      if (is_open(graph, dim)) names.insert(*dim.as_symbol());
  }
  return names;
}

/// Sizes of a picture's dims that preprocessing fixes.
Bindings picture_sizes(const Graph& graph, const Value& input, const Preprocess& spec) {
  Bindings sizes;
  if (!ops::has_rank(&input, 1)) return sizes;
  const Dims& dims = input.type.dims();
  const auto expect = [&](std::size_t d, std::int64_t size) {
    if (size > 0 && is_open(graph, dims[d])) sizes.emplace(*dims[d].as_symbol(), size);
  };
  expect(0, 1);
  if (dims.size() != 4) return sizes;
  const std::size_t rows = spec.channels_last ? 1 : 2;
  expect(rows, spec.height);
  expect(rows + 1, spec.width);
  return sizes;
}

} // namespace

void expect_pictures(Graph& graph, const std::map<std::string, Preprocess>& preprocess) {
  Bindings sizes;
  for (const auto& input : graph.body().parameters())
    if (const auto spec = preprocess.find(input->name()); spec != preprocess.end())
      sizes.merge(picture_sizes(graph, *input, spec->second));
  const Symbols before = graph.symbols;
  for (const auto& [name, size] : sizes) {
    SymbolInfo& symbol = graph.symbols[name];
    symbol.opt = std::clamp(size, symbol.min, symbol.max);
  }
  const auto shapes = opt_shapes(graph);
  if (shapes && !takes_shapes(graph, given_shapes(graph, *shapes))) graph.symbols = before;
}

Bindings sizes_from_weights(const Graph& graph) {
  const std::set<std::string> open = open_symbols(graph);
  Bindings sizes;
  std::set<std::string> contested;
  for (const auto& node : graph.body().nodes()) {
    const auto found = requirement(*node);
    const auto name = found ? found->dim.as_symbol() : std::nullopt;
    if (!name || !found->size || !open.contains(*name)) continue;
    if (sizes.emplace(*name, *found->size).first->second != *found->size) contested.insert(*name);
  }
  for (const std::string& name : contested) sizes.erase(name);
  return sizes;
}

} // namespace lanner
