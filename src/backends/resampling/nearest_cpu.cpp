// resize to the nearest element, of integers of 8 and 16 bits, in row-major order and channels last.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/resampling/resampling.h"
#include "backends/storage_layout.h"
#include "base/limits/counted_vector.h"
#include "device/parallel.h"

namespace lanner {

namespace {

/// For each index along an axis of the result, the index along the same axis of the input.
using Indices = std::vector<std::int32_t>;

/// Nothing where a result is not the copy of one element.
std::optional<Indices> copied(const ops::ResampledAxis& taps) {
  Indices indices;
  for (std::size_t i = 0; i + 1 < taps.begins.size(); ++i) {
    const auto first = static_cast<std::size_t>(taps.begins[i]);
    if (taps.begins[i + 1] - taps.begins[i] != 1 || taps.weights[first] != 1.0F) return std::nullopt;
    indices.push_back(taps.indices[first]);
  }
  return indices;
}

/// The indices of each axis; nothing for other groups, with a reason where it is a resize.
std::optional<std::vector<Indices>> read(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "resize") return std::nullopt;
  const GroupOp& op = group.ops().front();
  const DType type = op.type().dtype();
  const auto bits = bit_width(type);
  if (!is_integer(type) || (bits != 8 && bits != 16)) return std::nullopt; // the other families'
  reason = "supports nearest of 8 and 16 bits with constant parameters, without extrapolation values";
  if (op.input(0).shape().elements() == 0 || op.type().shape().elements() == 0) return std::nullopt;
  const auto taps = taps_of(op);
  if (!taps) return std::nullopt;
  const Shape shape = op.type().shape();
  std::vector<Indices> axes(shape.rank());
  for (const ops::ResampledAxis& resampled : *taps) {
    auto indices = copied(resampled);
    if (!indices) return std::nullopt;
    axes[resampled.axis] = std::move(*indices);
  }
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis].empty()) continue;
    axes[axis].resize(static_cast<std::size_t>(shape[axis]));
    std::iota(axes[axis].begin(), axes[axis].end(), 0);
  }
  return axes;
}

bool is_whole(const Indices& indices, std::int64_t size) {
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices[i] != static_cast<std::int32_t>(i)) return false;
  return static_cast<std::int64_t>(indices.size()) == size;
}

/// Offsets in the input of the rows and of a row's elements. A row is what the last axes in memory order
/// hold.
struct Rows {
  CountedVector<std::int64_t> starts; ///< For each row of the result.
  std::vector<std::int64_t> elements; ///< For each run of a row.
  std::int64_t run = 1;               ///< Contiguous elements.
};

/// The last resampled axis and those after it form a row.
Rows rows_of(const std::vector<Indices>& axes, const Shape& x, const Layout& layout) {
  std::vector<std::size_t> order;
  for (const MemoryAxis& axis : memory_axes(layout, x)) order.push_back(axis.dim);
  Rows rows;
  while (!order.empty() && is_whole(axes[order.back()], x[order.back()])) {
    rows.run *= x[order.back()];
    order.pop_back();
  }
  std::int64_t stride = rows.run;
  rows.elements = {0};
  if (!order.empty()) {
    rows.elements.clear();
    for (const std::int32_t i : axes[order.back()]) rows.elements.push_back(i * stride);
    stride *= x[order.back()];
    order.pop_back();
  }
  rows.starts = {0};
  for (; !order.empty(); order.pop_back()) {
    CountedVector<std::int64_t> more;
    for (const std::int32_t i : axes[order.back()])
      for (const std::int64_t start : rows.starts) more.push_back(i * stride + start);
    stride *= x[order.back()];
    rows.starts = std::move(more);
  }
  return rows;
}

class NearestKernel final : public Kernel {
public:
  NearestKernel(Rows rows, std::size_t x, std::size_t element, int threads)
      : rows_(std::move(rows)), x_(x), element_(element), threads_(threads) {}

  void launch(const Launch& launch) const override {
    if (element_ == 1)
      run(static_cast<const std::uint8_t*>(launch.inputs[x_]), static_cast<std::uint8_t*>(launch.outputs[0]));
    else
      run(static_cast<const std::uint16_t*>(launch.inputs[x_]),
          static_cast<std::uint16_t*>(launch.outputs[0]));
  }

private:
  template<typename T>
  void run(const T* x, T* y) const {
    const std::int64_t length = static_cast<std::int64_t>(rows_.elements.size()) * rows_.run;
    constexpr std::int64_t elements_of_a_share = 16384; // a few microseconds of work justify waking a thread
    const std::int64_t grain = std::max<std::int64_t>(1, elements_of_a_share / length);
    parallel_for(threads_, 0, static_cast<std::int64_t>(rows_.starts.size()), grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const auto row = static_cast<std::size_t>(r);
                     T* const to = y + r * length;
                     if (r > begin && rows_.starts[row] == rows_.starts[row - 1])
                       std::copy_n(to - length, length, to);
                     else
                       fill(x + rows_.starts[row], to);
                   }
                 });
  }

  template<typename T>
  void fill(const T* from, T* to) const {
    if (rows_.run == 1)
      for (const std::int64_t element : rows_.elements) *to++ = from[element];
    else
      for (const std::int64_t element : rows_.elements) to = std::copy_n(from + element, rows_.run, to);
  }

  Rows rows_;
  std::size_t x_, element_;
  int threads_;
};

TacticList nearest_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!read(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const Shape x = op.input(0).shape(), y = op.type().shape();
  for (const Layout& layout : offered_layouts(x)) {
    if (!layout.blocks.empty()) continue;
    Tactic tactic;
    tactic.kernel = "nearest";
    tactic.inputs.resize(node.inputs().size());
    tactic.inputs[op.input(0).index] = stored(layout);
    tactic.outputs = {stored(canonical(layout, y))};
    constexpr double nanoseconds_of_an_element = 0.4;
    tactic.estimate = seconds_of({.bytes = plain_bytes(*node.output()), .threads = target.threads}, target);
    if (layout.row_major())
      tactic.estimate +=
          static_cast<double>(y.elements()) * nanoseconds_of_an_element * 1e-9 / target.threads;
    list.tactics.push_back(std::move(tactic));
  }
  list.reason.clear();
  return list;
}

std::unique_ptr<Kernel> nearest_prepare(const Preparation& p) {
  std::string reason;
  const auto axes = read(p.group, reason);
  check_taken(axes.has_value(), p, reason);
  const GroupOp& op = p.group.ops().front();
  const std::size_t x = op.input(0).index;
  return std::make_unique<NearestKernel>(rows_of(*axes, op.input(0).shape(), p.tactic.inputs.at(x).layout), x,
                                         bit_width(op.type().dtype()) / 8, p.target.threads);
}

} // namespace

extern const KernelFamily nearest_family{"nearest", KernelTrust::own(), nearest_tactics, nearest_prepare};

} // namespace lanner
