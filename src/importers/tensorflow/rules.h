#pragma once
// Rules of TensorFlow operators: one line each, related operators in one file.

#include <map>
#include <string>
#include <string_view>

#include "importers/builder.h"

namespace lanner::tensorflow {

using Rules = std::map<std::string, Rule, std::less<>>;

// Each family adds its rules.
void add_math_rules(Rules& rules);
void add_reduction_rules(Rules& rules);
void add_layer_rules(Rules& rules);
void add_image_rules(Rules& rules);
void add_shape_rules(Rules& rules);
void add_slice_rules(Rules& rules);
void add_block_rules(Rules& rules);
void add_control_rules(Rules& rules);
void add_list_rules(Rules& rules);

/// The rule of a node, or an empty function when there is none.
Rule find_rule(const ImportNode& node);

// Shared by the rules.

/// The operator `op` on all inputs, without attributes.
Rule same(const char* op);
Value* cast(RuleContext& context, Value* value, DType to);
/// An input as i64: shapes, axes and counts may be i32 or i64.
Value* integers(RuleContext& context, std::size_t i);
/// The same as a list, for inputs where TensorFlow also accepts a scalar.
Value* integer_list(RuleContext& context, std::size_t i);
/// The elements of an integer input that is known at import; Error{unsupported} otherwise.
std::vector<std::int64_t> known_integers(const RuleContext& context, std::size_t i);
/// Input `i` as an axis of a value of rank `rank`, counted from the front.
std::int64_t known_axis(const RuleContext& context, std::size_t i, std::size_t rank);
/// Error{unsupported} when the rank is not known.
std::size_t rank_of(const RuleContext& context, std::size_t i);
Value* transpose(RuleContext& context, Value* value, std::vector<std::int64_t> order);
AttributeMap with(std::string name, Attribute value);

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
