#pragma once
// Rules of TensorFlow operators: one line each, related operators in one file.

#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/builder.h"

namespace lanner::tensorflow {

/// How an operator is converted, and which nodes that TensorFlow runs are refused.
struct OperatorRule {
  Rule convert;
  /// The messages with which the rule refuses nodes, each with its remedy: docs/tensorflow-operators.md lists
  /// them.
  std::vector<const char*> limits = {};
  bool refused = false;                      ///< Every node is refused, with the only one of `limits`.
  std::vector<const char*> differences = {}; ///< What the results differ in from TensorFlow's, and why.

  OperatorRule() = default;
  template<std::invocable<RuleContext&> Function>
  OperatorRule(Function rule, std::vector<const char*> limits = {}, std::vector<const char*> differences = {})
      : convert(std::move(rule)), limits(std::move(limits)), differences(std::move(differences)) {}
};

using Rules = std::map<std::string, OperatorRule, std::less<>>;

// Each family adds its rules.
void add_math_rules(Rules& rules);
void add_special_rules(Rules& rules);
void add_bit_rules(Rules& rules);
void add_linear_rules(Rules& rules);
void add_reduction_rules(Rules& rules);
void add_layer_rules(Rules& rules);
void add_fused_rules(Rules& rules);
void add_quantization_rules(Rules& rules);
void add_image_rules(Rules& rules);
void add_resample_rules(Rules& rules);
void add_colour_rules(Rules& rules);
void add_detection_rules(Rules& rules);
void add_patch_rules(Rules& rules);
void add_shape_rules(Rules& rules);
void add_index_rules(Rules& rules);
void add_segment_rules(Rules& rules);
void add_sequence_rules(Rules& rules);
void add_diagonal_rules(Rules& rules);
void add_slice_rules(Rules& rules);
void add_block_rules(Rules& rules);
void add_list_rules(Rules& rules);
void add_control_rules(Rules& rules);
void add_refused_rules(Rules& rules);

/// The operators that this importer knows, those included that it refuses by name.
const Rules& operator_rules();

/// The rule of a node, or an empty function when there is none.
Rule find_rule(const ImportNode& node);
/// Whether every node of the operator is refused: a plug-in's operator comes first.
bool is_refused(const std::string& op);

// Shared by the rules.

/// The operator `op` on all inputs, without attributes.
Rule same(const char* op);
/// With it inputs are refused that are settings rather than data.
inline constexpr const char* open_setting = "axes, orders, strides, windows, borders and sizes of parts must "
                                            "be known before running; expected a constant";
inline constexpr const char* open_filter =
    "the sizes of the filter must be known before running; make it a constant";
/// Notes one limit of several operators.
void note_limit(Rules& rules, std::initializer_list<const char*> names, const char* limit);
/// A rule that refuses every node: `why` says the reason and the remedy.
OperatorRule refused(const char* why);
Value* cast(RuleContext& context, Value* value, DType to);
/// An input as i64: shapes, axes and counts may be i32 or i64.
Value* integers(RuleContext& context, std::size_t i);
/// The same as a list, for inputs where TensorFlow also accepts a scalar.
Value* integer_list(RuleContext& context, std::size_t i);
/// The elements of an integer input that is known at import; Error{unsupported} otherwise.
std::vector<std::int64_t> known_integers(const RuleContext& context, std::size_t i);
/// The only one of them; Error{bad_data} where there are more or none.
std::int64_t known_integer(const RuleContext& context, std::size_t i);
/// Input `i` as an axis of a value of rank `rank`, counted from the front.
std::int64_t known_axis(const RuleContext& context, std::size_t i, std::size_t rank);
/// Error{unsupported} when the rank is not known.
std::size_t rank_of(const RuleContext& context, std::size_t i);
Value* transpose(RuleContext& context, Value* value, std::vector<std::int64_t> order);
/// The value with dims of size 1 before, after or between its own: `axes` of the result.
Value* unsqueezed(RuleContext& context, Value* value, std::vector<std::int64_t> axes);
Value* reshaped(RuleContext& context, Value* value, std::vector<std::int64_t> sizes);
/// A constant of rank 0 with the element type of `like`.
Value* number_like(RuleContext& context, const Value* like, double number);
AttributeMap with(std::string name, Attribute value);
/// Of floating point: f32, f64, f16 or bf16.
bool is_real(const Value* value);
/// A dim's size, where it is known at import.
std::optional<std::int64_t> known_size(const Value* value, std::size_t d);

/// The position of an image's channels, from the attribute data_format.
struct DataFormat {
  bool channels_last = true;
  std::size_t dims = 2; ///< Spatial dims.

  /// The entry for height (0), width (1), ... in a list with one number per dimension.
  std::size_t space(std::size_t axis) const { return axis + (channels_last ? 1 : 2); }
  std::size_t channel() const { return channels_last ? dims + 1 : 1; }
};
DataFormat data_format(const RuleContext& context, std::size_t dims = 2);
/// Converts between the source's layout and channels first, which our operators take: the transposes between
/// adjacent nodes cancel.
Value* channels_first(RuleContext& context, Value* value, const DataFormat& format);
Value* as_source(RuleContext& context, Value* value, const DataFormat& format);

} // namespace lanner::tensorflow
