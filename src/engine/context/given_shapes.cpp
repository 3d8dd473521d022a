#include "engine/context/given_shapes.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/joined.h"
#include "engine/context/pictures.h"
#include "graph/infer.h"

namespace lanner {
namespace {

/// Bound of the shape inferences made for an error message.
constexpr std::size_t max_tries = 64;

bool has_dims(const Value& input) {
  return input.type.is_tensor() && input.type.ranked();
}

void bind_dim(const Dim& dim, std::int64_t size, const Graph& graph, Bindings& bindings,
              const std::string& where) {
  const auto name = dim.as_symbol();
  if (!name) return;
  const auto [entry, fresh] = bindings.emplace(*name, size);
  check(fresh || entry->second == size, ErrorCode::invalid_argument,
        "{}: {} is {} here and {} elsewhere; sizes of one name must be equal", where, *name, size,
        entry->second);
  const auto symbol = graph.symbols.find(*name);
  if (symbol == graph.symbols.end()) return;
  check(size >= symbol->second.min && size <= symbol->second.max, ErrorCode::invalid_argument,
        "{}: {} is {}, the engine was built for {} to {}", where, *name, size, symbol->second.min,
        symbol->second.max);
}

/// Whether the dim depends on shapes that are not given yet.
bool is_open(const Dim& dim, const Bindings& bindings) {
  std::set<std::string> names;
  dim.collect_symbols(names);
  return std::ranges::any_of(names, [&](const std::string& name) { return !bindings.contains(name); });
}

void check_shape(const Value& input, const Shape& shape, const Bindings& bindings, bool all_given) {
  const Dims& dims = input.type.dims();
  check(dims.size() == shape.rank(), ErrorCode::invalid_argument, "input {}: expected {}, got rank {} ({})",
        input.name(), caller_type(input), shape.rank(), shape.to_string());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!all_given && is_open(dims[d], bindings)) continue;
    check(dims[d].evaluate(bindings) == shape[d], ErrorCode::invalid_argument,
          "input {}: expected {}, got {}; dim {} differs", input.name(), caller_type(input),
          caller_shape(input, shape).to_string(), d);
  }
}

std::unique_ptr<Graph> inferred_at(const Graph& graph, const GivenShapes& shapes) {
  std::unique_ptr<Graph> concrete = graph.clone(bind_shapes(graph, shapes));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Value* input = concrete->body().parameter(i);
    if (shapes[i] && input->type.is_tensor()) input->type = Type(input->type.dtype(), *shapes[i]);
  }
  infer_types(*concrete);
  return concrete;
}

/// Values of all symbols: 1 where nothing is known, as exporters do.
Bindings usual_sizes(const Graph& graph) {
  Bindings sizes = known_sizes(graph);
  for (const auto& [name, symbol] : graph.symbols)
    sizes.emplace(name, std::clamp<std::int64_t>(1, symbol.min, symbol.max));
  return sizes;
}

/// Valid shapes to suggest instead of `refused`: the usual ones, or `refused` with one size replaced by one
/// found inside the model.
std::optional<InputShapes> shapes_taken(const Graph& graph, const GivenShapes& refused) {
  const Bindings usual = usual_sizes(graph);
  std::size_t tries = 0;
  const auto taken = [&](const Bindings& sizes) -> std::optional<InputShapes> {
    InputShapes shapes = shapes_with(graph, sizes);
    ++tries;
    return takes_shapes(graph, given_shapes(graph, shapes)) ? std::optional(std::move(shapes)) : std::nullopt;
  };
  if (auto shapes = taken(usual)) return shapes;
  Bindings asked = bind_shapes(graph, refused);
  const Bindings changeable = asked;
  asked.insert(usual.begin(), usual.end());
  const std::set<std::int64_t> sizes = sizes_inside(graph);
  for (const auto& [name, given] : changeable) {
    for (const std::int64_t size : sizes) {
      if (tries >= max_tries) return std::nullopt;
      Bindings changed = asked;
      changed[name] = size;
      if (auto shapes = taken(changed)) return shapes;
    }
  }
  return std::nullopt;
}

/// `x: [1, 6], mask: [1, 6]`, of the inputs with open shapes.
std::string shapes_text(const Graph& graph, const GivenShapes& shapes) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Value* input = graph.body().parameter(i);
    if (shapes[i] && input->type.is_tensor() && !input->type.is_static())
      parts.push_back(fmt::format("{}: {}", input->name(), caller_shape(*input, *shapes[i]).to_string()));
  }
  return joined(parts, ", ");
}

[[noreturn]] void fail_to_fit(const Graph& graph, const GivenShapes& shapes, const Error& error) {
  const std::string given = shapes_text(graph, shapes);
  if (given.empty()) throw error; // not caused by a given shape
  const bool ranked = std::ranges::all_of(graph.body().parameters(), [](const auto& input) {
    return !input->type.is_tensor() || input->type.ranked();
  });
  std::optional<InputShapes> taken;
  if (ranked) taken = shapes_taken(graph, shapes);
  fail(ErrorCode::invalid_argument, "input {} does not fit the model: {}{}", given, error.message(),
       taken ? fmt::format("; it was exported for {}", shapes_text(graph, given_shapes(graph, *taken))) : "");
}

/// Whether a range of sizes was given.
bool is_range(const SymbolInfo& symbol) {
  return symbol.opt >= 0 && (symbol.min > 0 || symbol.max < INT64_MAX);
}

/// Checks one end of the ranges; sizes without a range stay open.
void check_end(const Graph& graph, const Bindings& sizes) {
  std::set<std::string> open;
  for (const auto& input : graph.body().parameters())
    if (has_dims(*input))
      for (const Dim& dim : input->type.dims()) dim.collect_symbols(open);
    else if (input->type.is_tensor())
      open.insert(input->name());
  if (std::ranges::all_of(open, [&](const std::string& name) { return sizes.contains(name); })) {
    graph_at(graph, given_shapes(graph, shapes_with(graph, sizes)));
    return;
  }
  std::vector<std::string> parts;
  for (const auto& [name, size] : sizes) parts.push_back(fmt::format("{} = {}", name, size));
  with_context([&] { return fmt::format("the model does not take {}", joined(parts, ", ")); },
               [&] { infer_types(*graph.clone(sizes)); });
}

} // namespace

GivenShapes given_shapes(const Graph& graph, const InputShapes& shapes) {
  const std::size_t count = graph.body().parameters().size();
  check(shapes.size() == count, ErrorCode::invalid_argument, "{} shapes for {} inputs", shapes.size(), count);
  GivenShapes given(count);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (graph.body().parameter(i)->type.is_tensor()) given[i] = shapes[i];
  return given;
}

Bindings bind_shapes(const Graph& graph, const GivenShapes& shapes) {
  Bindings bindings;
  const auto parameters = graph.body().parameters();
  bool all_given = true;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (shapes[i]) check_rank(shapes[i]->rank(), "input " + parameters[i]->name());
    all_given = all_given && (shapes[i] || !has_dims(*parameters[i]));
    if (!shapes[i] || !has_dims(*parameters[i])) continue;
    const Dims& dims = parameters[i]->type.dims();
    for (std::size_t d = 0; d < std::min(dims.size(), shapes[i]->rank()); ++d)
      bind_dim(dims[d], (*shapes[i])[d], graph, bindings,
               fmt::format("input {}: dim {}", parameters[i]->name(), d));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (shapes[i] && has_dims(*parameters[i])) check_shape(*parameters[i], *shapes[i], bindings, all_given);
  return bindings;
}

std::optional<InputShapes> completed_shapes(const Graph& graph, const GivenShapes& given,
                                            const std::optional<InputShapes>& base) {
  Bindings sizes = bind_shapes(graph, given);
  if (base) sizes.merge(bind_shapes(graph, given_shapes(graph, *base)));
  sizes.merge(known_sizes(graph));
  InputShapes shapes = base.value_or(InputShapes(given.size()));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Value& input = *graph.body().parameter(i);
    if (given[i]) {
      shapes[i] = *given[i];
    } else if (has_dims(input)) {
      shapes[i] = {};
      for (const Dim& dim : input.type.dims()) {
        if (is_open(dim, sizes)) return std::nullopt;
        shapes[i].push_back(dim.evaluate(sizes));
      }
    } else if (input.type.is_tensor() && !base) {
      return std::nullopt; // of any rank
    }
  }
  return shapes;
}

Bindings known_sizes(const Graph& graph) {
  Bindings sizes;
  for (const auto& [name, symbol] : graph.symbols) {
    if (symbol.opt >= 0)
      sizes[name] = std::clamp(symbol.opt, symbol.min, symbol.max);
    else if (symbol.min == symbol.max)
      sizes[name] = symbol.min;
  }
  return sizes;
}

InputShapes shapes_with(const Graph& graph, const Bindings& sizes) {
  InputShapes shapes;
  for (const auto& input : graph.body().parameters()) {
    Shape shape;
    if (has_dims(*input))
      for (const Dim& dim : input->type.dims()) shape.push_back(dim.evaluate(sizes));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

bool takes_shapes(const Graph& graph, const GivenShapes& shapes) {
  try {
    inferred_at(graph, shapes);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    return false;
  }
}

std::set<std::int64_t> sizes_inside(const Graph& graph) {
  std::set<std::int64_t> sizes = {1};
  for (const auto& node : graph.body().nodes()) {
    const Tensor* constant = is_constant(*node) ? node->output()->constant() : nullptr;
    if (!constant) continue;
    for (const std::int64_t size : constant->shape()) sizes.insert(size);
    if (constant->dtype() == DType::i64 && constant->rank() == 1 &&
        constant->elements() <= max_known_elements)
      for (const std::int64_t size : constant->as<std::int64_t>())
        if (size > 0) sizes.insert(size);
  }
  return sizes;
}

std::string open_inputs_text(const Graph& graph, std::span<const std::size_t> states) {
  const Bindings known = known_sizes(graph);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < graph.body().parameters().size(); ++i) {
    const Value& input = *graph.body().parameter(i);
    if (!input.type.is_tensor() || std::ranges::find(states, i) != states.end()) continue;
    const bool open = !input.type.ranked() || std::ranges::any_of(input.type.dims(), [&](const Dim& dim) {
      return is_open(dim, known);
    });
    if (open) parts.push_back(fmt::format("{}: {}", input.name(), caller_type(input)));
  }
  return joined(parts, ", ");
}

std::optional<InputShapes> opt_shapes(const Graph& graph, std::span<const std::size_t> states) {
  if (!open_inputs_text(graph, states).empty()) return std::nullopt;
  const GivenShapes none(graph.body().parameters().size());
  if (auto shapes = completed_shapes(graph, none, {})) return shapes;
  InputShapes shapes = shapes_with(graph, usual_sizes(graph));
  return takes_shapes(graph, given_shapes(graph, shapes)) ? std::optional(std::move(shapes)) : std::nullopt;
}

InputShapes smallest_shapes(const Graph& graph) {
  Bindings sizes;
  for (const auto& [name, symbol] : graph.symbols) sizes[name] = symbol.min;
  return shapes_with(graph, sizes);
}

std::unique_ptr<Graph> graph_at(const Graph& graph, const GivenShapes& shapes) {
  bind_shapes(graph, shapes); // its own message is sufficient
  try {
    return inferred_at(graph, shapes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::bad_data) throw;
    fail_to_fit(graph, shapes, error);
  }
}

void check_range_ends(const Graph& graph) {
  const Bindings opt = known_sizes(graph);
  Bindings smallest = opt, largest = opt;
  for (const auto& [name, symbol] : graph.symbols) {
    if (!is_range(symbol)) continue;
    smallest[name] = symbol.min;
    if (symbol.max < INT64_MAX) largest[name] = symbol.max; // else there is no end to check
  }
  for (const Bindings& end : {smallest, largest})
    if (end != opt) check_end(graph, end);
}

} // namespace lanner
