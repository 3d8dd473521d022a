#pragma once
// Rules of Caffe layers: one line per layer type, related types in one file.

#include <map>
#include <string>

#include "importers/builder.h"

namespace lanner::caffe {

using Rules = std::map<std::string, Rule, std::less<>>;

// Each family adds its rules.
void add_layer_rules(Rules& rules);
void add_normalization_rules(Rules& rules);
void add_math_rules(Rules& rules);
void add_shape_rules(Rules& rules);

/// The rule of a layer, or an empty function when there is none.
Rule find_rule(const ImportNode& node);

// Shared by the rules.

/// How many trained blobs the layer has.
std::size_t blobs(const RuleContext& context);
/// Trained blob `i`; when it is missing, Error{bad_data} with the remedy.
const Tensor& blob(const RuleContext& context, std::size_t i);
/// The same elements in another shape; Error{bad_data} when the element counts differ.
Value* blob(RuleContext& context, std::size_t i, Shape shape);
/// Input 0's rank; Error{unsupported} when it is not known.
std::size_t rank_of(const RuleContext& context, std::size_t i = 0);
/// Attribute `name` as an axis of input 0, counted from the front.
std::int64_t axis_of(const RuleContext& context, const char* name, std::int64_t fallback);
Value* unsqueezed(RuleContext& context, Value* value, std::size_t trailing);
AttributeMap with(std::string name, Attribute value);

} // namespace lanner::caffe
