// Prints graphs.

#include <utility>

#include "base/limits/account.h"
#include "graph/op.h"
#include "graph/text/lexer.h"
#include "graph/text/tensor_text.h"
#include "graph/text/text.h"
#include "tensor/content_hash.h"

namespace lanner {

namespace {

constexpr std::int64_t max_inline_elements = 16;

std::string value_name(const Value& value) {
  return lanner::value_name(value.name());
}

std::string value_name(const Value* value) {
  return value ? value_name(*value) : "_";
}

std::string definition(const Value& value) {
  std::string text = value_name(value) + ": " + value.type.to_string();
  return value.storage.is_default() ? text : text + " @ " + value.storage.to_string();
}

template<typename List, typename Text>
std::string joined(const List& list, const Text& text) {
  std::string result;
  bool first = true;
  for (const auto& item : list) {
    if (!std::exchange(first, false)) result += ", ";
    result += text(item);
  }
  return result;
}

class Printer {
public:
  Printer(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options) {}

  std::string run() {
    header();
    for (const auto& node : graph_.body().nodes()) print(*node, 1);
    return text_ + "}\n";
  }

private:
  void header() {
    text_ = "graph @" + graph_name();
    text_ += "(" + joined(graph_.body().parameters(), [](const auto& value) { return definition(*value); }) +
             ") -> (";
    for (std::size_t i = 0; i < graph_.output_names().size(); ++i) {
      const Value& value = *graph_.body().outputs()[i];
      text_ += fmt::format("{}{}: {} as {}", i ? ", " : "", value_name(value), value.type.to_string(),
                           in_quotes(graph_.output_names()[i]));
    }
    text_ += ") {\n";
    for (const auto& [name, info] : graph_.symbols) {
      text_ += fmt::format("  symbol {} in [{}, {}]", name, info.min,
                           info.max == INT64_MAX ? "*" : fmt::format("{}", info.max));
      text_ += info.opt >= 0 ? fmt::format(" = {}\n", info.opt) : "\n";
    }
    for (const auto& [key, value] : graph_.metadata)
      text_ += fmt::format("  meta {} = {}\n", in_quotes(key), in_quotes(value));
  }

  std::string graph_name() const {
    const bool simple = is_simple_name(graph_.name) && !(graph_.name[0] >= '0' && graph_.name[0] <= '9');
    return simple ? graph_.name : in_quotes(graph_.name);
  }

  void print(const Node& node, std::size_t level) {
    check_deadline();
    text_.append(2 * level, ' ');
    text_ += node.outputs().empty()
                 ? "_"
                 : joined(node.outputs(), [](const auto& value) { return definition(*value); });
    text_ += " = " + node.kind() + "(" +
             joined(node.own_inputs(), [](const Value* value) { return value_name(value); });
    if (node.captures() > 0)
      text_ += "; " + joined(node.inputs().last(node.captures()),
                             [](const Value* value) { return value_name(value); });
    text_ += ")";
    print_attributes(node);
    print_regions(node, level);
    if (!node.sources.empty())
      text_ += " source(" + joined(node.sources, [](const auto& name) { return in_quotes(name); }) + ")";
    if (options_.tactics && node.tactic.chosen()) print_tactic(node.tactic);
    if (options_.tactics && node.stream() != 0) text_ += fmt::format(" stream({})", node.stream());
    text_ += "\n";
  }

  void print_attributes(const Node& node) {
    if (node.attributes.size() == 0) return;
    text_ += " {" +
             joined(node.attributes,
                    [&](const auto& entry) { return entry.first + " = " + text_of(node, entry.second); }) +
             "}";
  }

  void print_regions(const Node& node, std::size_t level) {
    for (std::size_t r = 0; r < node.regions().size(); ++r) {
      const Region& region = *node.regions()[r];
      text_ += r == 0 ? " ((" : ", (";
      text_ += joined(region.parameters(), [](const auto& value) { return definition(*value); }) + ") -> (" +
               joined(region.outputs(), [](const Value* value) { return value_name(value); }) + ") {\n";
      for (const auto& inner : region.nodes()) print(*inner, level + 1);
      text_.append(2 * level, ' ');
      text_ += "}";
    }
    if (!node.regions().empty()) text_ += ")";
  }

  void print_tactic(const TacticChoice& tactic) {
    std::string config;
    for (std::byte byte : tactic.config) config += fmt::format("{:02x}", static_cast<unsigned>(byte));
    text_ += fmt::format(" tactic({}, {}, {}, {})", in_quotes(tactic.backend), in_quotes(tactic.kernel),
                         config.empty() ? "_" : config, real_text(tactic.seconds));
  }

  std::string text_of(const Node& node, const Attribute& attribute) const {
    return std::visit([&](const auto& value) { return text_of(node, value); }, attribute);
  }
  std::string text_of(const Node&, std::int64_t value) const { return fmt::format("{}", value); }
  std::string text_of(const Node&, double value) const { return real_text(value); }
  std::string text_of(const Node&, const std::string& value) const { return in_quotes(value); }
  std::string text_of(const Node&, DType value) const { return std::string(to_string(value)); }
  std::string text_of(const Node&, const Type& value) const { return "type(" + value.to_string() + ")"; }
  std::string text_of(const Node&, const std::vector<std::int64_t>& list) const {
    if (list.empty()) return "ints[]";
    return "[" + joined(list, [](std::int64_t value) { return fmt::format("{}", value); }) + "]";
  }
  std::string text_of(const Node&, const std::vector<double>& list) const {
    return list.empty() ? "floats[]"
                        : "[" + joined(list, [](double value) { return real_text(value); }) + "]";
  }
  std::string text_of(const Node&, const std::vector<std::string>& list) const {
    return list.empty() ? "strings[]"
                        : "[" + joined(list, [](const std::string& value) { return in_quotes(value); }) + "]";
  }
  std::string text_of(const Node& node, const Tensor& tensor) const {
    if (options_.name_constant)
      if (std::string named = options_.name_constant(*node.output(), tensor); !named.empty()) return named;
    const bool plain = tensor.layout().row_major() && tensor.device().is_host();
    if (plain && tensor.elements() <= max_inline_elements) return tensor_text(tensor);
    return fmt::format("hash(\"{:016x}\", {})", content_hash(tensor),
                       Type(tensor.dtype(), tensor.shape()).to_string());
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::string text_;
};

} // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).run();
}

} // namespace lanner
