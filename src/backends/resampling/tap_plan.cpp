#include "backends/resampling/tap_plan.h"

#include <algorithm>
#include <numeric>

namespace lanner {

namespace {

constexpr std::size_t max_levels = 3;
/// With fewer contiguous elements vectors would be mostly empty: they are processed as elements of lines.
constexpr std::int64_t min_inner = 16;
/// Floats per piece, which stays in a core's L2 cache.
constexpr std::int64_t piece_floats = 64 << 10;
constexpr std::int64_t max_indices = 1 << 22;

// Costs in peak multiply-adds, for an element of a row and of a line.
constexpr double of_row = 4, of_row_tap = 3, of_line = 16, of_line_tap = 12;

ops::ResampledAxis same(std::int64_t size) {
  ops::ResampledAxis taps;
  taps.indices.resize(static_cast<std::size_t>(size));
  std::iota(taps.indices.begin(), taps.indices.end(), 0);
  taps.begins = taps.indices;
  taps.begins.push_back(static_cast<std::int32_t>(size));
  taps.weights.assign(taps.indices.size(), 1);
  return taps;
}

double mean_taps(const ops::ResampledAxis& taps) {
  return static_cast<double>(taps.indices.size()) / static_cast<double>(taps.begins.size() - 1);
}

} // namespace

std::pair<std::int64_t, std::int64_t> TapPlan::Level::index_range(std::int64_t first,
                                                                  std::int64_t last) const {
  const auto begin = taps.indices.begin() + taps.begins[static_cast<std::size_t>(first)],
             end = taps.indices.begin() + taps.begins[static_cast<std::size_t>(last)];
  if (begin == end) return {0, 0};
  const auto [low, high] = std::minmax_element(begin, end);
  return {*low, *high};
}

std::int64_t TapPlan::Level::copied(std::int64_t i) const {
  const std::int32_t begin = taps.begins[static_cast<std::size_t>(i)];
  const auto tap = static_cast<std::size_t>(begin);
  const bool one = taps.begins[static_cast<std::size_t>(i) + 1] - begin == 1 && taps.weights[tap] == 1;
  return one ? taps.indices[tap] : -1;
}

/// Groups as many results as have all their source positions within so much scratch memory; at least one.
void TapPlan::Level::cut_pieces() {
  const std::int64_t most = std::max<std::int64_t>(piece_floats / out_slab, 8);
  stops.resize(static_cast<std::size_t>(out));
  std::int64_t slabs = 0;
  for (std::int64_t first = 0; first < out;) {
    auto [low, high] = index_range(first, first + 1);
    std::int64_t last = first + 1;
    for (; last < out; ++last) {
      const auto [next_low, next_high] = index_range(last, last + 1);
      if (std::max(high, next_high) - std::min(low, next_low) >= most) break;
      low = std::min(low, next_low);
      high = std::max(high, next_high);
    }
    slabs = std::max(slabs, high - low + 1);
    std::fill(stops.begin() + first, stops.begin() + last, last);
    first = last;
  }
  scratch = slabs * out_slab;
}

std::optional<TapPlan> TapPlan::of(const Shape& x, const Shape& y, const Layout& layout,
                                   std::span<const ops::ResampledAxis> taps) {
  const auto resampled = [&](std::size_t axis) {
    return std::ranges::find(taps, axis, &ops::ResampledAxis::axis);
  };
  std::vector<std::size_t> order(layout.order.begin(), layout.order.end());
  if (order.empty()) {
    order.resize(x.rank());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  Shape sizes = layout.padded(x);
  TapPlan plan;
  for (const Layout::Block& block : layout.blocks) {
    if (resampled(block.dim) != taps.end()) return std::nullopt;
    sizes[block.dim] /= block.size;
    plan.inner_ *= block.size;
  }
  const auto changes = [&](std::size_t axis) { return resampled(axis) != taps.end(); };
  const auto first = std::find_if(order.begin(), order.end(), changes),
             last = std::find_if(order.rbegin(), order.rend(), changes).base();
  if (first == order.end() || last - first > static_cast<std::ptrdiff_t>(max_levels)) return std::nullopt;
  for (auto axis = order.begin(); axis != first; ++axis) plan.planes_ *= sizes[*axis];
  for (auto axis = last; axis != order.end(); ++axis) plan.inner_ *= sizes[*axis];
  for (auto axis = first; axis != last; ++axis) {
    const auto own = resampled(*axis);
    const bool stays = own == taps.end();
    plan.add_level(stays ? same(sizes[*axis]) : *own, sizes[*axis], stays ? sizes[*axis] : y[*axis]);
  }
  plan.join_rows();
  plan.choose_order();
  return plan;
}

void TapPlan::add_level(ops::ResampledAxis taps, std::int64_t in, std::int64_t out) {
  Level level;
  level.taps = std::move(taps);
  level.in = in;
  level.out = out;
  levels_.push_back(std::move(level));
}

/// Short rows become elements of the last axis.
void TapPlan::join_rows() {
  Level& last = levels_.back();
  if (inner_ == 1 || inner_ >= min_inner ||
      static_cast<std::int64_t>(last.taps.indices.size()) * inner_ > max_indices)
    return;
  const ops::ResampledAxis old = std::move(last.taps);
  last.taps = {old.axis, {0}, {}, {}};
  for (std::size_t i = 0; i + 1 < old.begins.size(); ++i)
    for (std::int64_t k = 0; k < inner_; ++k) {
      for (auto t = static_cast<std::size_t>(old.begins[i]); t < static_cast<std::size_t>(old.begins[i + 1]);
           ++t) {
        last.taps.indices.push_back(static_cast<std::int32_t>(old.indices[t] * inner_ + k));
        last.taps.weights.push_back(old.weights[t]);
      }
      last.taps.begins.push_back(static_cast<std::int32_t>(last.taps.indices.size()));
    }
  last.in *= inner_;
  last.out *= inner_;
  inner_ = 1;
}

void TapPlan::choose_order() {
  for (std::size_t d = levels_.size(); d-- > 0;) {
    const bool last = d + 1 == levels_.size();
    levels_[d].in_slab = last ? inner_ : levels_[d + 1].in * levels_[d + 1].in_slab;
    levels_[d].out_slab = last ? inner_ : levels_[d + 1].out * levels_[d + 1].out_slab;
  }
  operations_ = static_cast<double>(planes_) * choose_order(0);
  for (const Level& level : levels_) scratch_ += level.scratch;
  if (inner_ == 1) line_ = TapLineLists(levels_.back().taps, levels_.back().in, functions_->lanes);
}

/// Cost of a slab of level d.
double TapPlan::choose_order(std::size_t d) {
  Level& level = levels_[d];
  const auto in = static_cast<double>(level.in), out = static_cast<double>(level.out);
  const double taps = mean_taps(level.taps);
  if (d + 1 == levels_.size())
    return out * (inner_ == 1 ? of_line + of_line_tap * taps
                              : static_cast<double>(inner_) * (of_row + of_row_tap * taps));
  const double within = choose_order(d + 1), of_sum = out * (of_row + of_row_tap * taps);
  bool copies = true;
  for (std::int64_t i = 0; i < level.out; ++i) copies &= level.copied(i) >= 0;
  const double before = out * within + (copies ? 0 : of_sum * static_cast<double>(level.in_slab)),
               after = in * within + of_sum * static_cast<double>(level.out_slab);
  level.inner_first = after < before;
  if (level.inner_first)
    level.cut_pieces();
  else
    level.scratch = copies ? 0 : level.in_slab;
  return std::min(before, after);
}

std::int64_t TapPlan::unit() const noexcept {
  return by_lines(0) ? functions_->lanes : 1;
}

void TapPlan::run(std::int64_t plane, std::int64_t first, std::int64_t last, const float* x, float* y,
                  float* scratch) const {
  const Level& outer = levels_.front();
  run_level(0, first, last, x + plane * outer.in * outer.in_slab,
            y + (plane * outer.out + first) * outer.out_slab, scratch);
}

void TapPlan::run_level(std::size_t d, std::int64_t first, std::int64_t last, const float* from, float* to,
                        float* scratch) const {
  const Level& level = levels_[d];
  if (by_lines(d)) return functions_->lines(line_.line(), first, last, from, to, 1);
  if (d + 1 == levels_.size()) return functions_->rows(level.list(), first, last, 0, from, inner_, to);
  if (level.inner_first) return run_inner_first(d, first, last, from, to, scratch);
  for (std::int64_t i = first; i < last; ++i, to += level.out_slab) {
    const std::int64_t copied = level.copied(i);
    if (copied < 0) functions_->rows(level.list(), i, i + 1, 0, from, level.in_slab, scratch);
    run_level(d + 1, 0, levels_[d + 1].out, copied < 0 ? scratch : from + copied * level.in_slab, to,
              scratch + level.scratch);
  }
}

void TapPlan::run_inner_first(std::size_t d, std::int64_t first, std::int64_t last, const float* from,
                              float* to, float* scratch) const {
  const Level &level = levels_[d], &next = levels_[d + 1];
  for (std::int64_t stop = first; first < last; first = stop) {
    stop = std::min(last, level.stops[static_cast<std::size_t>(first)]);
    const auto [low, high] = level.index_range(first, stop);
    if (by_lines(d + 1))
      functions_->lines(line_.line(), 0, next.out, from + low * level.in_slab, scratch, high - low + 1);
    else
      for (std::int64_t i = low; i <= high; ++i)
        run_level(d + 1, 0, next.out, from + i * level.in_slab, scratch + (i - low) * level.out_slab,
                  scratch + level.scratch);
    functions_->rows(level.list(), first, stop, low, scratch, level.out_slab, to);
    to += (stop - first) * level.out_slab;
  }
}

} // namespace lanner
