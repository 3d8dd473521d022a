#pragma once
// Rules of ONNX operators, one line each; most map to the operator of the same name in snake_case.

#include <map>
#include <string>
#include <string_view>

#include "importers/builder.h"

namespace lanner::onnx {

using Rules = std::map<std::string, Rule, std::less<>>;

// Each family adds its rules; a rule may leave newer versions to direct().
void add_shape_rules(Rules& rules);
void add_layer_rules(Rules& rules);
void add_math_rules(Rules& rules);
void add_control_rules(Rules& rules);
void add_attention_rules(Rules& rules);
void add_ml_rules(Rules& rules);
void add_ml_tree_rules(Rules& rules);
void add_training_rules(Rules& rules);
void add_gradient_rules(Rules& rules);
// Keys of domains other than ONNX's own include the domain.
void add_microsoft_rules(Rules& rules);
void add_microsoft_normalization_rules(Rules& rules);
void add_microsoft_quantized_rules(Rules& rules);
void add_microsoft_weight_rules(Rules& rules);
void add_microsoft_attention_rules(Rules& rules);
void add_microsoft_group_attention_rules(Rules& rules);
void add_microsoft_sequence_rules(Rules& rules);
void add_microsoft_expert_rules(Rules& rules);
void add_microsoft_data_rules(Rules& rules);
void add_early_rules(Rules& rules);

/// Our name of an ONNX operator: `BatchNormalization` is `batch_normalization`.
std::string snake_case(std::string_view name);

/// Copies inputs and attributes unchanged.
void direct(RuleContext& context);
/// The same as another operator.
void direct_as(RuleContext& context, std::string_view op,
               std::initializer_list<std::string_view> without = {});

/// The rule of a node: a special one, else direct() where the table has the operator, else an empty function.
Rule find_rule(const ImportNode& node, const OpTable& ops);

} // namespace lanner::onnx
