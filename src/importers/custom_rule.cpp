#include "importers/custom_rule.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text/json.h"
#include "ops/table/arguments.h"
#include "ops/table/custom.h"

namespace lanner {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t max_elements = 1 << 16;

Json json_of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

Json json_of(const Tensor& tensor) {
  check(tensor.elements() <= max_elements, ErrorCode::limit_exceeded,
        "a tensor of {} elements: expected at most {}; make it an input", tensor.elements(), max_elements);
  Json data = Json::array();
  if (is_float(tensor.dtype()))
    for (const double value : ops::doubles_of(tensor)) data.push_back(json_of(value));
  else
    for (const std::int64_t value : ops::read_integers(tensor, "the tensor")) data.push_back(value);
  return {{"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape().dims()}, {"data", std::move(data)}};
}

Json json_of(const ImportAttribute::Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Tensor>) {
          return json_of(held);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          Json list = Json::array();
          for (const double one : held) list.push_back(json_of(one));
          return list;
        } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string> ||
                             std::is_same_v<T, std::vector<std::int64_t>> ||
                             std::is_same_v<T, std::vector<std::string>>) {
          return held;
        } else if constexpr (std::is_same_v<T, Type>) {
          return held.to_string();
        } else {
          fail(ErrorCode::unsupported, "custom operators take numbers, strings, lists of them and tensors");
        }
      },
      value);
}

std::string attributes_text(const ImportNode& node) {
  Json all = Json::object();
  for (const auto& entry : node.attributes)
    with_context([&] { return "attribute " + entry.first; },
                 [&] { all[entry.first] = json_of(entry.second.value); });
  try {
    return exact_json_text(all);
  } catch (const Error&) {
    fail(ErrorCode::bad_data, "an attribute or its name is not valid UTF-8");
  }
}

} // namespace

Rule custom_rule(const OpTable& ops, const std::string& name) {
  const OpDef* op = ops.find(name);
  if (!op || !custom_operator(*op)) return {};
  return [name](RuleContext& context) {
    AttributeMap attributes;
    attributes.set("attributes", attributes_text(context.node));
    context.set_outputs(
        *context.emit_node(name, context.all_inputs(), std::move(attributes), context.node.outputs.size()));
  };
}

} // namespace lanner
