#include "backends/contraction/weight_copy.h"

#include <cstring>

namespace lanner {

WeightCopy::WeightCopy(const Contraction& c, const BlockFunctions& functions, bool joined)
    : unit_(functions.unit), element_(functions.element), width_(functions.width),
      columns_(c.group_columns()), channels_(c.channels()), taps_(c.conv ? c.window.taps() : 1),
      groups_(c.groups), by_column_(c.conv || c.transposed),
      shifted_(functions.quads() && c.shifts_weights()) {
  line_ = joined && c.conv ? c.window.kernel[1] : 1;
  run_ = rounded_up(line_ * channels_, unit_);
  depth_ = rounded_up(taps_ / line_ * run_, unit_ * functions.whole_steps);
  panels_ = quotient_up(columns_, width_);
}

std::vector<std::byte> WeightCopy::of(const std::byte* weights) const {
  std::vector<std::byte> all(static_cast<std::size_t>(groups_ * panels_ * width_ * depth_ * element_));
  for (std::int64_t column = 0; column < groups_ * columns_; ++column)
    for (std::int64_t tap = 0; tap < taps_; ++tap)
      for (std::int64_t channel = 0; channel < channels_; ++channel) {
        const std::int64_t from =
            by_column_ ? (column * channels_ + channel) * taps_ + tap : channel * columns_ + column;
        std::byte* const to = all.data() + place(column, tap, channel) * element_;
        std::memcpy(to, weights + from * element_, static_cast<std::size_t>(element_));
        if (shifted_) *to ^= std::byte{0x80};
      }
  return all;
}

std::int64_t WeightCopy::place(std::int64_t column, std::int64_t tap, std::int64_t channel) const {
  const std::int64_t panel = column / columns_ * panels_ + column % columns_ / width_;
  const std::int64_t depth = tap / line_ * run_ + tap % line_ * channels_ + channel;
  return panel * width_ * depth_ + depth / unit_ * unit_ * width_ + column % columns_ % width_ * unit_ +
         depth % unit_;
}

} // namespace lanner
