#include "ops/definition/recipe.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "graph/copy.h"
#include "graph/op.h"
#include "graph/text/tensor_text.h"
#include "graph/text/text.h"

namespace lanner {
namespace {

constexpr const char* weight_key = "weight";
constexpr const char* recipe_key = "recipe";
constexpr const char* decided_key = "lanner.decided";

constexpr std::uint64_t max_literal_bytes = 4096;
constexpr std::size_t max_expression = 1u << 16;
/// Each folded node parses and prints the recipes that it combines, so a chain of such nodes takes time
/// quadratic in their size.
constexpr std::size_t max_expression_nodes = 128, max_expression_results = 64, max_sources = 1024;
/// Inference may use the elements of integer tensors up to this size as sizes.
constexpr std::int64_t max_size_elements = max_known_elements;

/// A recipe without an expression does not identify the value: a digest distinguishes different values.
std::string with_digest(const std::string& lost, const Tensor& value) {
  constexpr std::string_view unnamed = "graph @recipe(";
  if (!lost.starts_with(unnamed) || value.dtype() == DType::string) return lost;
  const std::span bytes(static_cast<const std::byte*>(value.data()), value.bytes());
  return fmt::format("graph @recipe_{}({}", hash_hex(bytes), lost.substr(unnamed.size()));
}

std::string text_of(const Graph& graph) {
  PrintOptions options;
  options.name_constant = [](const Value&, const Tensor& tensor) { return tensor_text(tensor); };
  return print(graph, options);
}

/// Combines recipes to one graph.
class Composer {
public:
  explicit Composer(const OpTable& ops) : graph_(ops, "recipe"), copier_(graph_.body()) {}

  /// Called for all inputs first, so that nothing else takes their names.
  void declare(const Value& constant) {
    const Recipe recipe = recipe_of(*constant.producer());
    if (!recipe.expression.empty()) parsed_[&constant] = parse_graph(recipe.expression, graph_.ops());
    for (const auto& [name, type] : sources(recipe, constant))
      if (!inputs_.contains(name)) inputs_[name] = graph_.add_input(name, type);
  }

  void add(const Value& constant) {
    const Recipe recipe = recipe_of(*constant.producer());
    if (!recipe.weight.empty()) return copier_.map(&constant, inputs_.at(recipe.weight));
    if (recipe.expression.empty()) return add_literal(constant);
    const Region& body = parsed_.at(&constant)->body();
    if (body.outputs().empty()) return lose();
    NodeCopier inner(graph_.body());
    for (const auto& parameter : body.parameters()) inner.map(parameter.get(), inputs_.at(parameter->name()));
    copier_.map(&constant, inner.copy_nodes(body).at(0));
  }

  std::size_t sources() const { return inputs_.size(); }

  /// The recipe of each output of `node`.
  std::vector<Recipe> finish(const Node& node) {
    const std::size_t count = node.outputs().size();
    if (!complete_ || graph_.body().nodes().size() >= max_expression_nodes || count > max_expression_results)
      return std::vector<Recipe>(count, lost());
    Node* made = copier_.copy(node);
    made->sources.clear();
    std::vector<Recipe> recipes;
    for (std::size_t i = 0; i < count; ++i) {
      graph_.add_output("value", made->output(i));
      std::string text = text_of(graph_);
      graph_.remove_output(0);
      recipes.push_back(text.size() <= max_expression ? Recipe{{}, std::move(text)} : lost());
    }
    return recipes;
  }

private:
  Recipe lost() const {
    Graph graph(graph_.ops(), "recipe");
    for (const auto& [name, value] : inputs_) graph.add_input(name, value->type);
    return {{}, text_of(graph)};
  }

  std::map<std::string, Type> sources(const Recipe& recipe, const Value& constant) const {
    std::map<std::string, Type> types;
    if (!recipe.weight.empty()) types.emplace(recipe.weight, constant.type);
    if (const auto found = parsed_.find(&constant); found != parsed_.end())
      for (const auto& parameter : found->second->body().parameters())
        types.emplace(parameter->name(), parameter->type);
    return types;
  }

  void add_literal(const Value& constant) {
    const Tensor& tensor = *constant.constant();
    if (tensor.dtype() == DType::string || tensor.bytes() > max_literal_bytes) return lose();
    copier_.map(&constant, graph_.constant(tensor.layout().row_major() ? tensor : tensor.clone()));
  }

  void lose() { complete_ = false; }

  Graph graph_;
  NodeCopier copier_;
  std::map<const Value*, std::unique_ptr<Graph>> parsed_;
  std::map<std::string, Value*> inputs_;
  bool complete_ = true;
};

} // namespace

Recipe recipe_of(const Node& constant) {
  return {constant.attributes.string(weight_key, {}), constant.attributes.string(recipe_key, {})};
}

void set_recipe(Node& constant, const Recipe& recipe) {
  const auto put = [&](const char* key, const std::string& text) {
    if (text.empty())
      constant.attributes.erase(key);
    else
      constant.attributes.set(key, text);
  };
  put(weight_key, recipe.weight);
  put(recipe_key,
      recipe.lost() ? with_digest(recipe.expression, *constant.output()->constant()) : recipe.expression);
}

bool can_be_weight(const Tensor& tensor) {
  if (tensor.dtype() == DType::string || tensor.dtype() == DType::boolean) return false;
  const bool known = is_integer(tensor.dtype()) && bit_width(tensor.dtype()) >= 16;
  return !known || tensor.elements() > max_size_elements;
}

std::optional<std::vector<Recipe>> recipes_of_results(const Node& node) {
  std::vector<const Value*> inputs;
  std::set<const Value*> seen{nullptr};
  bool any = false;
  for (const Value* input : node.inputs()) {
    if (!seen.insert(input).second) continue;
    inputs.push_back(input);
    any = any || !recipe_of(*input->producer()).literal();
  }
  if (!any) return std::vector<Recipe>(node.outputs().size());
  Composer composer(node.region()->graph().ops());
  for (const Value* input : inputs) {
    composer.declare(*input);
    if (composer.sources() > max_sources) return std::nullopt;
  }
  for (const Value* input : inputs) composer.add(*input);
  return composer.finish(node);
}

std::map<std::string, Type> sources_of(const Recipe& recipe, const Type& type, const OpTable& ops,
                                       const Limits& limits) {
  std::map<std::string, Type> sources;
  if (!recipe.weight.empty()) sources.emplace(recipe.weight, type);
  if (recipe.expression.empty()) return sources;
  const std::unique_ptr<Graph> graph = parse_graph(recipe.expression, ops, {}, limits);
  for (const auto& parameter : graph->body().parameters()) {
    check(parameter->type.is_tensor() && parameter->type.is_static(), ErrorCode::bad_data,
          "a recipe reads {} as {}, expected a type of known sizes", parameter->name(),
          parameter->type.to_string());
    sources.emplace(parameter->name(), parameter->type);
  }
  return sources;
}

/// Offset of a line among sorted lines, or where to insert it, by binary search: there may be as many lines
/// as nodes, each looked up many times.
static std::size_t offset_of_line(std::string_view text, std::string_view line) {
  std::size_t low = 0, high = text.size(); // offsets of line starts
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const std::size_t begin = middle == 0 ? 0 : text.rfind('\n', middle - 1) + 1;
    const std::size_t end = std::min(text.find('\n', middle), text.size());
    if (text.substr(begin, end - begin) < line)
      low = std::min(end + 1, text.size());
    else
      high = begin;
  }
  return low;
}

void note_decided(Graph& graph, const Value* constant) {
  if (!constant || !constant->constant()) return;
  const Recipe recipe = recipe_of(*constant->producer());
  if (recipe.literal()) return;
  std::string& text = graph.metadata[decided_key];
  for (const auto& [name, type] : sources_of(recipe, constant->type, graph.ops())) {
    const std::size_t offset = offset_of_line(text, name);
    if (std::string_view(text).substr(offset).starts_with(name + "\n")) continue;
    text.insert(offset, name + "\n");
  }
}

std::set<std::string> decided_weights(const Graph& graph) {
  std::set<std::string> names;
  const auto found = graph.metadata.find(decided_key);
  if (found == graph.metadata.end()) return names;
  std::string_view text = found->second;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) names.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

} // namespace lanner
