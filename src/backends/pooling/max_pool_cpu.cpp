// max_pool over one or two spatial axes: of i8 and u8 row-major and channels last, of f32 and bf16 channels
// last.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "backends/byte_scale.h"
#include "backends/cpu/for_this_cpu.h"
#include "backends/cpu/layouts.h"
#include "backends/cpu/stored_types.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/pooling/maxima.h"
#include "backends/storage_layout.h"
#include "device/parallel.h"
#include "ops/convolution/window.h"

namespace lanner {

const MaximaFunctions& maxima_functions() {
  static const MaximaFunctions chosen = for_this_cpu(maxima_baseline, maxima_avx2, maxima_avx512);
  return chosen;
}

namespace {

constexpr std::int64_t most_taps = 1024;

/// One spatial axis.
struct Axis {
  std::int64_t size = 1, positions = 1, taps = 1, stride = 1, dilation = 1, begin = 0;
  ops::InsideRange whole{0, 1}; ///< The positions whose taps all lie inside.

  std::int64_t first(std::int64_t position) const { return position * stride - begin; } ///< Index of tap 0.
  /// Calls `body(index)` for each tap of a position that lies inside.
  template<typename Body>
  void inside(std::int64_t position, const Body& body) const {
    for (std::int64_t t = 0; t < taps; ++t)
      if (const std::int64_t i = first(position) + t * dilation; i >= 0 && i < size) body(i);
  }
};

/// The functions for elements of a type, and its lowest number.
struct ElementType {
  Maxima maxima;
  std::int64_t bytes;
  std::array<std::uint8_t, 4> lowest;
};

ElementType element_type(DType type) {
  const MaximaFunctions& functions = maxima_functions();
  switch (type) {
  case DType::i8:
    return {functions.of_i8, 1, {0x80}};
  case DType::u8:
    return {functions.of_u8, 1, {0}};
  case DType::bf16:
    return {functions.of_bf16, 2, {0x80, 0xff}};
  default:
    return {functions.of_f32, 4, {0, 0, 0x80, 0xff}};
  }
}

struct Pool {
  std::int64_t batch, channels;
  Axis rows, columns;

  explicit Pool(const GroupOp& op) {
    const Shape x = op.input(0).shape(), y = op.type().shape();
    batch = x[0];
    channels = x[1];
    const auto spatial = [](const Shape& shape) { return std::span(shape.dims()).subspan(2); };
    const auto attributes = ops::WindowAttributes::read(op.attributes(), x.rank() - 2);
    const ops::Window window =
        ops::resolve_window(attributes, spatial(x), spatial(y), op.attributes().integers("kernel_shape"));
    const auto axis = [&](std::size_t d) {
      const std::int64_t first = std::min(ops::inside_range(window, d, 0).first, window.positions[d]);
      const std::int64_t last = ops::inside_range(window, d, window.kernel[d] - 1).last;
      return Axis{window.image[d],
                  window.positions[d],
                  window.kernel[d],
                  window.strides[d],
                  window.dilations[d],
                  window.begin[d],
                  {first, std::max(first, last)}};
    };
    if (x.rank() == 4) rows = axis(0);
    columns = axis(x.rank() - 3);
  }
};

class MaxPoolKernel final : public Kernel {
public:
  MaxPoolKernel(const Pool& pool, DType type, bool channels_last, int threads)
      : pool_(pool), type_(element_type(type)), is_signed_(type == DType::i8), channels_last_(channels_last),
        threads_(threads) {}

  void launch(const Launch& launch) const override {
    const auto* x = static_cast<const std::byte*>(launch.inputs[0]);
    auto* y = static_cast<std::byte*>(launch.outputs[0]);
    const std::int64_t planes = channels_last_ ? pool_.batch : pool_.batch * pool_.channels;
    const std::int64_t line = pool_.columns.positions * (channels_last_ ? pixel_bytes() : 1);
    constexpr std::int64_t bytes_of_a_share = 16384; // a few microseconds of work justify waking a thread
    const std::int64_t grain = std::max<std::int64_t>(1, bytes_of_a_share / std::max<std::int64_t>(line, 1));
    parallel_for(threads_, 0, planes * pool_.rows.positions, grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   channels_last_ ? pixels(x, y, begin, end) : lines(x, y, begin, end);
                 });
  }

private:
  using Taps = std::vector<const std::byte*>;

  std::int64_t pixel_bytes() const { return pool_.channels * type_.bytes; }

  /// Rows of pixels, each of all channels.
  void pixels(const std::byte* x, std::byte* y, std::int64_t begin, std::int64_t end) const {
    const Axis& columns = pool_.columns;
    const auto [from, to] = columns.whole;
    Taps taps;
    for (std::int64_t r = begin; r < end; ++r) {
      const std::byte* image = x + r / pool_.rows.positions * pool_.rows.size * columns.size * pixel_bytes();
      const auto fold_run = [&](std::int64_t first, std::int64_t pixels) {
        taps.clear();
        pool_.rows.inside(r % pool_.rows.positions, [&](std::int64_t row) {
          columns.inside(first, [&](std::int64_t column) {
            taps.push_back(image + (row * columns.size + column) * pixel_bytes());
          });
        });
        fold(taps, y + (r * columns.positions + first) * pixel_bytes(),
             {pool_.channels, pixels, columns.stride * pool_.channels});
      };
      for (std::int64_t c = 0; c < from; ++c) fold_run(c, 1);
      if (from < to) fold_run(from, to - from);
      for (std::int64_t c = to; c < columns.positions; ++c) fold_run(c, 1);
    }
  }

  /// Rows of bytes of one channel each: first the maxima of columns, then of windows along the row.
  void lines(const std::byte* x, std::byte* y, std::int64_t begin, std::int64_t end) const {
    const Axis& columns = pool_.columns;
    const std::int64_t last = columns.first(columns.positions - 1) + (columns.taps - 1) * columns.dilation;
    // With what lies outside on both sides.
    std::vector<std::byte> row(static_cast<std::size_t>(columns.begin + std::max(columns.size, last + 1)),
                               std::byte{type_.lowest[0]});
    Taps taps;
    for (std::int64_t r = begin; r < end; ++r) {
      const std::byte* plane = x + r / pool_.rows.positions * pool_.rows.size * columns.size;
      taps.clear();
      pool_.rows.inside(r % pool_.rows.positions,
                        [&](std::int64_t i) { taps.push_back(plane + i * columns.size); });
      fold(taps, row.data() + columns.begin, {columns.size});
      std::byte* const out = y + r * columns.positions;
      taps.clear();
      for (std::int64_t t = 0; t < columns.taps; ++t) taps.push_back(row.data() + t * columns.dilation);
      if (columns.stride == 1)
        fold(taps, out, {columns.positions});
      else
        is_signed_ ? steps<std::int8_t>(taps, out) : steps<std::uint8_t>(taps, out);
    }
  }

  template<typename T>
  void steps(const Taps& taps, std::byte* out) const {
    const std::int64_t stride = pool_.columns.stride, positions = pool_.columns.positions;
    for (std::int64_t p = 0; p < positions; ++p) {
      T most = static_cast<T>(taps[0][p * stride]);
      for (const std::byte* tap : taps) most = std::max(most, static_cast<T>(tap[p * stride]));
      out[p] = static_cast<std::byte>(most);
    }
  }

  void fold(const Taps& taps, std::byte* out, const PixelRun& run) const {
    if (!taps.empty()) return type_.maxima(taps.data(), static_cast<std::int64_t>(taps.size()), out, run);
    for (std::int64_t i = 0; i < run.pixels * run.size; ++i)
      std::memcpy(out + i * type_.bytes, type_.lowest.data(), static_cast<std::size_t>(type_.bytes));
  }

  Pool pool_;
  ElementType type_;
  bool is_signed_, channels_last_;
  int threads_;
};

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "max_pool") return false;
  const GroupOp& op = group.ops().front();
  const std::size_t rank = op.input(0).shape().rank();
  const DType type = op.input(0).dtype();
  const bool indices = op.node->outputs().size() > 1 && !op.node->output(1)->unused();
  if ((is_byte(type) || type == DType::f32 || type == DType::bf16) && (rank == 3 || rank == 4) && !indices &&
      ops::Window::product_of(op.attributes().integers("kernel_shape")) <= most_taps)
    return true;
  reason =
      "supports i8, u8, f32 and bf16 of rank 3 and 4, windows of 1024 elements, without the indices output";
  return false;
}

double estimate(const Node& node, const Storage& storage, double taps, const Target& target) {
  const DType type = stored_type(storage, node.input(0)->type.dtype());
  const auto bytes = static_cast<double>(bit_width(type)) / 8;
  const double of_y = static_cast<double>(node.output(0)->type.shape().elements()) * bytes,
               of_x = static_cast<double>(node.input(0)->type.shape().elements()) * bytes;
  constexpr double nanoseconds_of_a_tap = 0.04;
  return seconds_of({.bytes = of_x + of_y, .threads = target.threads}, target) +
         of_y * taps * nanoseconds_of_a_tap * 1e-9 / target.threads;
}

TacticList max_pool_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const auto taps = static_cast<double>(ops::Window::product_of(op.attributes().integers("kernel_shape")));
  const auto add = [&](const Layout& layout, std::optional<DType> kept, double cost_of_taps) {
    Tactic tactic;
    tactic.kernel = "max_pool";
    tactic.inputs = {stored_as(canonical(layout, op.input(0).shape()), kept)};
    tactic.outputs.assign(node.outputs().size(), stored_as(canonical(layout, op.type().shape()), kept));
    tactic.estimate = estimate(node, tactic.inputs[0], cost_of_taps, target);
    list.tactics.push_back(std::move(tactic));
  };
  const Layout last = Layout::channels_last(op.type().rank());
  if (!is_byte(op.input(0).dtype())) {
    for (const std::optional<DType> kept : stored_types(op.input(0).dtype(), target)) add(last, kept, taps);
    return list;
  }
  constexpr double taps_of_lines = 8;
  add({}, std::nullopt, taps_of_lines);
  add(last, std::nullopt, taps);
  return list;
}

std::unique_ptr<Kernel> max_pool_prepare(const Preparation& p) {
  std::string reason;
  check_taken(takes(p.group, reason), p, reason);
  const GroupOp& op = p.group.ops().front();
  const DType type = stored_type(p.tactic.inputs.at(0), op.input(0).dtype());
  const bool last = !is_byte(type) || !p.tactic.inputs.at(0).layout.row_major() ||
                    !p.tactic.outputs.at(0).layout.row_major();
  return std::make_unique<MaxPoolKernel>(Pool(op), type, last, p.target.threads);
}

} // namespace

extern const KernelFamily max_pool_family{"max_pool", KernelTrust::own(), max_pool_tactics, max_pool_prepare};

} // namespace lanner
