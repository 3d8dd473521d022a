#pragma once
// Helpers that make operators' traits.

#include <cstdint>
#include <functional>
#include <string_view>

#include "graph/graph.h"
#include "graph/traits.h"

namespace lanner::ops {

Traits of_pattern(Pattern pattern);
/// Pattern `movement`, with the first operand's values.
Traits movement();
/// Elementwise, broadcast, with a discontinuous result.
Traits stepwise();
/// Elementwise with results in this range.
Traits elementwise_within(double least, double most);

ValueRange preserved_range();
ValueRange fixed_range(double least, double most);

// Values of `Traits::split`.

using SplitRule = std::function<bool(const Split&)>;

/// The first operand is split, all others are shared.
bool splits_first(const Split& split);
/// The same for images, [N, C, spatial...].
bool splits_images(const Split& split);
/// Operands that broadcast are split.
bool splits_elements(const Split& split);
/// The first operand is split, unless attribute `axis` is its axis 0.
SplitRule splits_beside_axis(std::int64_t fallback);
/// The same where operand `i` holds the axes.
SplitRule splits_beside_axes_of(std::size_t i);

/// Whether `axis`, which may be negative, is axis 0 of the value.
bool is_first_axis(std::int64_t axis, const Value& value);

// Values of `Traits::line_length`: 1 where sizes are unknown.

double line_along_axis(const Node& node);    ///< Along attribute `axis`, by default the last one.
double line_from_axis(const Node& node);     ///< All axes from `axis` on, by default the last one.
double line_of_image(const Node& node);      ///< All spatial axes of [N, C, spatial...].
double line_of_channels(const Node& node);   ///< The channels of one of `num_groups`, and all spatial axes.
double line_of_axes(const Node& node);       ///< The axes of attribute `axes`.
double line_of_axis_input(const Node& node); ///< Along the axis in operand 1.

/// The number of elements of a value; 0 where it is unknown.
std::uint64_t element_count(const Value* value);
/// Whether it is a tensor of known rank `least` or higher.
bool has_rank(const Value* value, std::size_t least);

} // namespace lanner::ops
