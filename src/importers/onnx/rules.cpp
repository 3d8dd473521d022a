#include "importers/onnx/rules.h"

#include <array>
#include <cctype>

#include <lanner/error.h>

#include "importers/custom_rule.h"

namespace lanner::onnx {
namespace {

// Operators whose name here is not the snake_case of ONNX's name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> irregular{{
    {"MatMul", "matmul"},
    {"MatMulInteger", "matmul_integer"},
    {"QLinearMatMul", "q_linear_matmul"},
    {"PRelu", "prelu"},
    {"IsNaN", "is_nan"},
    {"Upsample", "resize"},
    {"Scatter", "scatter_elements"},
}};

const Rules& all_rules() {
  static const Rules rules = [] {
    Rules made;
    add_shape_rules(made);
    add_layer_rules(made);
    add_math_rules(made);
    add_control_rules(made);
    add_attention_rules(made);
    add_ml_rules(made);
    add_training_rules(made);
    add_gradient_rules(made);
    add_microsoft_rules(made);
    add_microsoft_normalization_rules(made);
    add_microsoft_quantized_rules(made);
    add_microsoft_weight_rules(made);
    add_microsoft_attention_rules(made);
    add_microsoft_group_attention_rules(made);
    add_microsoft_sequence_rules(made);
    add_microsoft_expert_rules(made);
    add_microsoft_data_rules(made);
    add_early_rules(made);
    return made;
  }();
  return rules;
}

} // namespace

std::string snake_case(std::string_view name) {
  for (const auto& [from, to] : irregular)
    if (from == name) return std::string(to);
  // A word begins at a capital letter; of several capitals, at the last one if lower-case letters follow it.
  const auto is = [&](std::size_t i, auto kind) {
    return i < name.size() && kind(static_cast<unsigned char>(name[i])) != 0;
  };
  const auto capital = [](unsigned char c) { return std::isupper(c); };
  const auto small = [](unsigned char c) { return std::islower(c); };
  std::string snake;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && is(i, capital) && (!is(i - 1, capital) || is(i + 1, small))) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return snake;
}

void direct_as(RuleContext& context, std::string_view op, std::initializer_list<std::string_view> without) {
  context.set_outputs(*context.emit_node(op, context.all_inputs(), context.attributes(op, without),
                                         context.node.outputs.size()));
}

void direct(RuleContext& context) {
  direct_as(context, snake_case(context.node.op));
}

Rule find_rule(const ImportNode& node, const OpTable& ops) {
  const std::string key = node.domain.empty() ? node.op : node.domain + "." + node.op;
  if (const auto found = all_rules().find(key); found != all_rules().end()) return found->second;
  if (node.domain.empty() && ops.find(snake_case(node.op))) return direct;
  return custom_rule(ops, key);
}

} // namespace lanner::onnx
