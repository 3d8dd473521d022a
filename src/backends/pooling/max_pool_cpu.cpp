// max_pool of i8 and u8 over one or two spatial axes, row-major and channels last.

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/for_this_cpu.h"
#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/pooling/byte_maxima.h"
#include "backends/storage_layout.h"
#include "device/parallel.h"
#include "ops/convolution/window.h"

namespace lanner {

const ByteMaximaFunctions& byte_maxima() {
  static const ByteMaximaFunctions chosen =
      for_this_cpu(byte_maxima_baseline, byte_maxima_avx2, byte_maxima_avx512);
  return chosen;
}

namespace {

constexpr std::int64_t most_taps = 1024;

/// One spatial axis.
struct Axis {
  std::int64_t size = 1, positions = 1, taps = 1, stride = 1, dilation = 1, begin = 0;

  std::int64_t first(std::int64_t position) const { return position * stride - begin; } ///< Index of tap 0.
  /// Calls `body(index)` for each tap of a position that lies inside.
  template<typename Body>
  void inside(std::int64_t position, const Body& body) const {
    for (std::int64_t t = 0; t < taps; ++t)
      if (const std::int64_t i = first(position) + t * dilation; i >= 0 && i < size) body(i);
  }
};

struct Pool {
  std::int64_t batch, channels;
  Axis rows, columns;
  bool is_signed;

  explicit Pool(const GroupOp& op) {
    const Shape x = op.input(0).shape(), y = op.type().shape();
    batch = x[0];
    channels = x[1];
    is_signed = is_signed_type(op);
    const auto spatial = [](const Shape& shape) { return std::span(shape.dims()).subspan(2); };
    const auto attributes = ops::WindowAttributes::read(op.attributes(), x.rank() - 2);
    const ops::Window window =
        ops::resolve_window(attributes, spatial(x), spatial(y), op.attributes().integers("kernel_shape"));
    const auto axis = [&](std::size_t d) {
      return Axis{window.image[d],   window.positions[d], window.kernel[d],
                  window.strides[d], window.dilations[d], window.begin[d]};
    };
    if (x.rank() == 4) rows = axis(0);
    columns = axis(x.rank() - 3);
  }

  static bool is_signed_type(const GroupOp& op) { return op.type().dtype() == DType::i8; }
  std::uint8_t least() const { return is_signed ? 0x80 : 0; }
};

class MaxPoolKernel final : public Kernel {
public:
  MaxPoolKernel(const Pool& pool, bool channels_last, int threads)
      : pool_(pool), channels_last_(channels_last), threads_(threads),
        maxima_(pool.is_signed ? byte_maxima().of_signed : byte_maxima().of_unsigned) {}

  void launch(const Launch& launch) const override {
    const auto* x = static_cast<const std::uint8_t*>(launch.inputs[0]);
    auto* y = static_cast<std::uint8_t*>(launch.outputs[0]);
    const std::int64_t planes = channels_last_ ? pool_.batch : pool_.batch * pool_.channels;
    const std::int64_t line = pool_.columns.positions * (channels_last_ ? pool_.channels : 1);
    constexpr std::int64_t bytes_of_a_share = 16384; // a few microseconds of work justify waking a thread
    const std::int64_t grain = std::max<std::int64_t>(1, bytes_of_a_share / std::max<std::int64_t>(line, 1));
    parallel_for(threads_, 0, planes * pool_.rows.positions, grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   channels_last_ ? pixels(x, y, begin, end) : lines(x, y, begin, end);
                 });
  }

private:
  /// Rows of pixels, each of all channels.
  void pixels(const std::uint8_t* x, std::uint8_t* y, std::int64_t begin, std::int64_t end) const {
    const std::int64_t channels = pool_.channels;
    std::vector<const std::uint8_t*> taps;
    for (std::int64_t r = begin; r < end; ++r) {
      const std::uint8_t* image =
          x + r / pool_.rows.positions * pool_.rows.size * pool_.columns.size * channels;
      for (std::int64_t c = 0; c < pool_.columns.positions; ++c) {
        taps.clear();
        pool_.rows.inside(r % pool_.rows.positions, [&](std::int64_t row) {
          pool_.columns.inside(c, [&](std::int64_t column) {
            taps.push_back(image + (row * pool_.columns.size + column) * channels);
          });
        });
        fold(taps, y + (r * pool_.columns.positions + c) * channels, channels);
      }
    }
  }

  /// Rows of one channel each: first the maxima of columns, then of windows along the row.
  void lines(const std::uint8_t* x, std::uint8_t* y, std::int64_t begin, std::int64_t end) const {
    const Axis& columns = pool_.columns;
    const std::int64_t last = columns.first(columns.positions - 1) + (columns.taps - 1) * columns.dilation;
    // With what lies outside on both sides.
    std::vector<std::uint8_t> row(static_cast<std::size_t>(columns.begin + std::max(columns.size, last + 1)),
                                  pool_.least());
    std::vector<const std::uint8_t*> taps;
    for (std::int64_t r = begin; r < end; ++r) {
      const std::uint8_t* plane = x + r / pool_.rows.positions * pool_.rows.size * columns.size;
      taps.clear();
      pool_.rows.inside(r % pool_.rows.positions,
                        [&](std::int64_t i) { taps.push_back(plane + i * columns.size); });
      fold(taps, row.data() + columns.begin, columns.size);
      std::uint8_t* const out = y + r * columns.positions;
      taps.clear();
      for (std::int64_t t = 0; t < columns.taps; ++t) taps.push_back(row.data() + t * columns.dilation);
      if (columns.stride == 1)
        maxima_(taps.data(), columns.taps, out, columns.positions);
      else
        pool_.is_signed ? steps<std::int8_t>(taps, out) : steps<std::uint8_t>(taps, out);
    }
  }

  template<typename T>
  void steps(const std::vector<const std::uint8_t*>& taps, std::uint8_t* out) const {
    const std::int64_t stride = pool_.columns.stride, positions = pool_.columns.positions;
    for (std::int64_t p = 0; p < positions; ++p) {
      T most = static_cast<T>(taps[0][p * stride]);
      for (const std::uint8_t* tap : taps) most = std::max(most, static_cast<T>(tap[p * stride]));
      out[p] = static_cast<std::uint8_t>(most);
    }
  }

  void fold(const std::vector<const std::uint8_t*>& taps, std::uint8_t* out, std::int64_t size) const {
    if (taps.empty())
      std::memset(out, pool_.least(), static_cast<std::size_t>(size));
    else
      maxima_(taps.data(), static_cast<std::int64_t>(taps.size()), out, size);
  }

  Pool pool_;
  bool channels_last_;
  int threads_;
  ByteMaxima maxima_;
};

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "max_pool") return false;
  const GroupOp& op = group.ops().front();
  const std::size_t rank = op.input(0).shape().rank();
  const DType type = op.input(0).dtype();
  const bool indices = op.node->outputs().size() > 1 && !op.node->output(1)->unused();
  if (type != DType::i8 && type != DType::u8) return false; // oneDNN's
  if ((rank == 3 || rank == 4) && !indices &&
      ops::Window::product_of(op.attributes().integers("kernel_shape")) <= most_taps)
    return true;
  reason = "supports rank 3 and 4, windows of 1024 elements, without the indices output";
  return false;
}

TacticList max_pool_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const auto taps = static_cast<double>(ops::Window::product_of(op.attributes().integers("kernel_shape")));
  for (const Layout& last : {Layout{}, Layout::channels_last(op.type().rank())}) {
    Tactic tactic;
    tactic.kernel = "max_pool";
    tactic.inputs = {stored(canonical(last, op.input(0).shape()))};
    tactic.outputs.assign(node.outputs().size(), stored(canonical(last, op.type().shape())));
    const double moved = plain_bytes(*node.input(0)) + plain_bytes(*node.output(0));
    constexpr double nanoseconds_of_a_tap = 0.04;
    tactic.estimate = seconds_of({.bytes = moved, .threads = target.threads}, target) +
                      plain_bytes(*node.output(0)) * (last.row_major() ? 8 : taps) * nanoseconds_of_a_tap *
                          1e-9 / target.threads;
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> max_pool_prepare(const Preparation& p) {
  std::string reason;
  check_taken(takes(p.group, reason), p, reason);
  const Pool pool(p.group.ops().front());
  const bool last = !p.tactic.inputs.at(0).layout.row_major() || !p.tactic.outputs.at(0).layout.row_major();
  return std::make_unique<MaxPoolKernel>(pool, last, p.target.threads);
}

} // namespace

extern const KernelFamily max_pool_family{"max_pool", KernelTrust::own(), max_pool_tactics, max_pool_prepare};

} // namespace lanner
