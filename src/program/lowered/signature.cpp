#include "program/lowered/signature.h"

#include <map>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/op.h"
#include "tensor/content_hash.h"

namespace lanner {
namespace {

std::string attribute_text(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor>)
          return fmt::format("{}{}#{:x}", to_string(value.dtype()), value.shape().to_string(),
                             content_hash(value));
        else if constexpr (std::is_same_v<T, Type>)
          return value.to_string();
        else if constexpr (std::is_same_v<T, DType>)
          return std::string(to_string(value));
        else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                           std::is_same_v<T, std::string>)
          return fmt::format("{}", value);
        else
          return fmt::format("[{}]", fmt::join(value, ","));
      },
      attribute);
}

void append(std::string& text, const Node& node, std::map<const Value*, std::size_t>& numbers) {
  text += node.kind() + "{";
  for (const auto& [name, value] : node.attributes)
    if (!is_constant(node) || name == "value") // the recipe of a constant is not part of its work
      text += fmt::format("{}={};", name, attribute_text(value));
  text += "}(";
  for (const Value* input : node.inputs()) {
    if (!input) {
      text += "_,";
      continue;
    }
    const auto [entry, fresh] = numbers.emplace(input, numbers.size());
    text += fmt::format("{}", entry->second);
    if (fresh)
      text += fmt::format(":{}{}@{}", input->type.to_string(), input->constant() ? "c" : "",
                          storage_key(input->storage, node));
    text += ",";
  }
  text += ")";
  for (const auto& region : node.regions()) {
    text += "[";
    for (const auto& parameter : region->parameters()) numbers.emplace(parameter.get(), numbers.size());
    for (const auto& inner : region->nodes()) append(text, *inner, numbers);
    for (const Value* output : region->outputs()) text += fmt::format(">{}", numbers[output]);
    text += "]";
  }
  for (const auto& output : node.outputs()) {
    numbers.emplace(output.get(), numbers.size());
    text += fmt::format(":{}@{}", output->type.to_string(), storage_key(output->storage, node));
  }
}

} // namespace

std::string signature(const Node& node) {
  std::string text;
  std::map<const Value*, std::size_t> numbers;
  append(text, node, numbers);
  return text;
}

} // namespace lanner
