#pragma once
// Words by which operators state their traits.

#include <cstdint>
#include <functional>
#include <string_view>

#include "graph/graph.h"
#include "graph/traits.h"

namespace lanner::ops {

Traits of_pattern(Pattern pattern);
/// Of the pattern `movement`, with the first operand's values.
Traits movement();
/// Elementwise, broadcast, with a result that jumps.
Traits stepwise();
/// Elementwise with results between these.
Traits elementwise_within(double least, double most);

ValueRange preserved_range();
ValueRange fixed_range(double least, double most);

// What `Traits::split` may be.

using SplitRule = std::function<bool(const Split&)>;

/// Parts of the first operand, and all others as they are.
bool splits_first(const Split& split);
/// Likewise of images, [N, C, spatial...].
bool splits_images(const Split& split);
/// Parts of operands that broadcast.
bool splits_elements(const Split& split);
/// Parts of the first operand, as long as attribute `axis` does not name axis 0 of it.
SplitRule splits_beside_axis(std::int64_t fallback);
/// Likewise where operand `i` holds the axes.
SplitRule splits_beside_axes_of(std::size_t i);

/// Whether `axis`, which may count from behind, is axis 0 of the value.
bool is_first_axis(std::int64_t axis, const Value& value);

// What `Traits::line_length` may be: 1 where sizes are not known.

double line_along_axis(const Node& node);  ///< Along attribute `axis`, by default the last one.
double line_from_axis(const Node& node);   ///< Of all axes from `axis` on, by default the last one.
double line_of_image(const Node& node);    ///< Of all spatial axes of [N, C, spatial...].
double line_of_channels(const Node& node); ///< Of the channels of one of `num_groups`, and all spatial axes.
double line_of_axes(const Node& node);     ///< Of the axes of attribute `axes`.
double line_of_axis_input(const Node& node); ///< Along the axis that operand 1 holds.

/// How many elements a value has; 0 where that is not known.
std::uint64_t element_count(const Value* value);
/// Whether it is a tensor of known rank, of this or a higher one.
bool has_rank(const Value* value, std::size_t least);

} // namespace lanner::ops
