// grid_sample of f32 with up to three spatial dims, in row-major order, channels last and blocked: positions
// and weights of a sample are computed once for all channels.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/resampling/samples.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"

namespace lanner {

namespace {

/// Bytes of a block's lists, which stay in L1.
constexpr std::int64_t block_taps = 1024, max_points = 256;

/// An image as `batch` x `planes` x sizes x `inner` numbers, sampled at `points` positions per batch entry.
struct Sampling {
  ops::GridSampling how;
  std::int64_t batch = 1, planes = 1, inner = 1, image = 1, points = 1;
  std::int64_t sizes[3] = {};
  int axes = 0;

  Sampling(const GroupOp& op, const Layout& layout);
  std::int64_t taps() const {
    std::int64_t count = 1;
    for (int d = 0; d < axes; ++d) count *= how.taps();
    return count;
  }
};

Sampling::Sampling(const GroupOp& op, const Layout& layout) : how(ops::GridSampling::read(op.attributes())) {
  const Shape x = op.input(0).shape(), y = op.type().shape();
  batch = x[0];
  axes = static_cast<int>(x.rank()) - 2;
  for (int d = 0; d < axes; ++d) {
    sizes[d] = x[static_cast<std::size_t>(d) + 2];
    image *= sizes[d];
    points *= y[static_cast<std::size_t>(d) + 2];
  }
  // One of the layouts offered.
  inner = layout.row_major() ? 1 : layout.blocks.empty() ? x[1] : layout.blocks.front().size;
  planes = layout.padded(x)[1] / inner;
}

class GridSampleKernel final : public Kernel {
public:
  GridSampleKernel(const Sampling& sampling, std::size_t x, std::size_t grid, int threads)
      : sampling_(sampling), functions_(sample_functions()), x_(x), grid_(grid), threads_(threads) {
    // As many points as a list holds, but few enough to give each thread some.
    const std::int64_t share = (sampling.batch * sampling.points + threads - 1) / threads;
    block_ = std::min({max_points, block_taps / sampling.taps(), (share / sample_lanes + 1) * sample_lanes});
    blocks_ = (sampling.points + block_ - 1) / block_;
    const std::int64_t channels = sampling.planes * sampling.inner;
    const std::int64_t taps = std::min(block_, sampling.points) * sampling.taps() * (channels + 8);
    grain_ = std::max<std::int64_t>(1, taps_of_a_share / taps);
  }

  void launch(const Launch& launch) const override {
    const auto* x = static_cast<const float*>(launch.inputs[x_]);
    const auto* grid = static_cast<const float*>(launch.inputs[grid_]);
    auto* y = static_cast<float*>(launch.outputs[0]);
    parallel_for(threads_, 0, sampling_.batch * blocks_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) run(x, grid, y, i / blocks_, i % blocks_ * block_);
    });
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t taps_of_a_share = 16384;
  static_assert(block_taps % (64 * sample_lanes) == 0, "lists of cubic samples of volumes are whole vectors");

  /// A block of points from `first` on.
  void run(const float* x, const float* grid, float* y, std::int64_t n, std::int64_t first) const;
  /// Along one axis, for samples rounded up to whole vectors.
  void find_taps(const float* grid, std::int64_t axis, const SampleTaps& samples, std::int32_t* indices,
                 float* weights) const;

  Sampling sampling_;
  const SampleFunctions& functions_;
  std::size_t x_, grid_;
  int threads_;
  std::int64_t block_, blocks_, grain_;
};

void GridSampleKernel::find_taps(const float* grid, std::int64_t axis, const SampleTaps& samples,
                                 std::int32_t* indices, float* weights) const {
  // A grid gives the innermost axis first.
  ops::find_axis_taps(sampling_.how, grid + sampling_.axes - 1 - axis, sampling_.axes, samples.count,
                      sampling_.sizes[axis],
                      ops::AxisTaps<std::int32_t, float>{indices, weights, samples.stride});
  for (std::int64_t k = 0; k < sampling_.how.taps(); ++k)
    for (std::int64_t i = samples.count; i % sample_lanes != 0; ++i) {
      indices[k * samples.stride + i] = 0;
      weights[k * samples.stride + i] = 0;
    }
}

void GridSampleKernel::run(const float* x, const float* grid, float* y, std::int64_t n,
                           std::int64_t first) const {
  alignas(64) std::int32_t offsets[block_taps], indices[block_taps];
  alignas(64) float weights[block_taps], shares[block_taps];
  const std::int64_t taps = sampling_.how.taps(), count = std::min(block_, sampling_.points - first);
  SampleTaps samples{offsets, weights, block_, taps, count};
  const float* const from = grid + (n * sampling_.points + first) * sampling_.axes;
  find_taps(from, 0, samples, offsets, weights);
  for (std::int64_t axis = 1; axis < sampling_.axes; ++axis) {
    find_taps(from, axis, samples, indices, shares);
    functions_.join(samples, {indices, shares, block_}, taps, sampling_.sizes[axis]);
  }
  const std::int64_t inner = sampling_.inner;
  for (std::int64_t plane = n * sampling_.planes; plane < (n + 1) * sampling_.planes; ++plane) {
    const float* const image = x + plane * sampling_.image * inner;
    float* const to = y + (plane * sampling_.points + first) * inner;
    if (inner == 1)
      functions_.plane(samples, image, to);
    else
      functions_.pixels(samples, image, inner, to);
  }
}

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "grid_sample") return false;
  const GroupOp& op = group.ops().front();
  const Shape x = op.input(0).shape();
  const std::int64_t elements = x.elements();
  if (op.input(0).dtype() == DType::f32 && op.input(1).dtype() == DType::f32 && x.rank() <= 5 &&
      elements > 0 && elements <= std::numeric_limits<std::int32_t>::max() &&
      op.type().shape().elements() > 0)
    return true;
  reason = "supports f32 of rank 3 to 5";
  return false;
}

double seconds_for(const Sampling& sampling, const Target& target) {
  // Cost in peak multiply-adds of computing a position, and of a gathered element.
  constexpr double of_index = 300, alone = 16, in_vectors = 2;
  const double points = static_cast<double>(sampling.batch * sampling.points),
               channels = static_cast<double>(sampling.planes * sampling.inner);
  const double taps = points * channels * static_cast<double>(sampling.taps());
  const double numbers = channels * static_cast<double>(sampling.batch * sampling.image) + points * channels;
  return seconds_of(
      {.operations = points * sampling.axes * of_index + taps * (sampling.inner == 1 ? alone : in_vectors),
       .bytes = 4 * numbers,
       .threads = target.threads},
      target);
}

TacticList grid_sample_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  for (const Layout& layout : offered_layouts(op.input(0).shape())) {
    Tactic tactic;
    tactic.kernel = "grid_sample";
    tactic.inputs.resize(node.inputs().size());
    tactic.inputs[op.input(0).index] = stored(layout);
    tactic.outputs = {stored(canonical(layout, op.type().shape()))};
    tactic.accumulates = DType::f32;
    tactic.estimate = seconds_for(Sampling(op, layout), target);
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> grid_sample_prepare(const Preparation& p) {
  std::string reason;
  check_taken(takes(p.group, reason), p, reason);
  const GroupOp& op = p.group.ops().front();
  const std::size_t x = op.input(0).index, grid = op.input(1).index;
  return std::make_unique<GridSampleKernel>(Sampling(op, p.tactic.inputs.at(x).layout), x, grid,
                                            p.target.threads);
}

} // namespace

extern const KernelFamily grid_sample_family{"grid_sample", KernelTrust::own(), grid_sample_tactics,
                                             grid_sample_prepare};

} // namespace lanner
