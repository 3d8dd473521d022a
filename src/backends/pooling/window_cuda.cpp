// max_pool and average_pool.

#include "backends/byte_scale.h"
#include "backends/convolution/convolution_window.h"
#include "backends/cuda/bounds.h"
#include "backends/cuda/embedded_kernel.h"
#include "backends/cuda/pointer_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/pooling/pool_source.h"
#include "backends/pooling/window_kernel.h"
#include "backends/reduction/reduction.h"
#include "device/cuda/code.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

/// A thread visits every tap of its window, with 32-bit indices, and cannot be interrupted.
bool is_small(const ops::Window& window) {
  constexpr double most_taps = 1 << 22;
  double taps = 1;
  for (const std::int64_t size : window.kernel) taps *= static_cast<double>(size);
  return taps <= most_taps && within_library_bounds(window);
}

bool is_pooled(DType type, const std::string& kind) {
  return is_real(type) || (is_byte(type) && kind == "max_pool");
}

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1) return false;
  const GroupOp& op = group.ops().front();
  if (op.kind() != "max_pool" && op.kind() != "average_pool") return false;
  const std::size_t rank = op.input(0).shape().rank();
  const bool indices = op.node->outputs().size() > 1 && !op.node->output(1)->unused();
  const bool small = op.input(0).shape().elements() < INT32_MAX;
  if (!is_pooled(op.input(0).dtype(), op.kind()) || rank < 3 || rank > 5 || indices || !small ||
      op.type().shape().elements() == 0) {
    reason =
        "supports floating-point images of rank 3 to 5, the largest of bytes, without the indices output";
    return false;
  }
  if (is_small(window_of(op.attributes(), op.input(0).shape(), op.type().shape(),
                         op.attributes().integers("kernel_shape"))))
    return true;
  reason = "a pool's window has too many taps or its extent exceeds 32 bits";
  return false;
}

PoolParameters parameters_of(const GroupOp& op, const Layout& from, const Layout& to) {
  const Shape x = op.input(0).shape(), y = op.type().shape();
  const std::size_t spatial = x.rank() - 2, first = 3 - spatial;
  const ops::Window window = window_of(op.attributes(), x, y, op.attributes().integers("kernel_shape"));
  PoolParameters p;
  p.batch = x[0];
  p.channels = x[1];
  const std::vector<std::int64_t> source = from.strides(x), target = to.strides(y);
  std::copy_n(source.begin(), 2, p.source);
  std::copy_n(target.begin(), 2, p.target);
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t axis = first + i;
    p.image[axis] = static_cast<int>(window.image[i]);
    p.positions[axis] = static_cast<int>(window.positions[i]);
    p.kernel[axis] = static_cast<int>(window.kernel[i]);
    p.strides[axis] = static_cast<int>(window.strides[i]);
    p.dilations[axis] = static_cast<int>(window.dilations[i]);
    p.begin[axis] = static_cast<int>(window.begin[i]);
    p.end[axis] = static_cast<int>(window.end[i]);
    p.source[2 + axis] = source[2 + i];
    p.target[2 + axis] = target[2 + i];
  }
  p.channels_innermost = p.target[1] == 1 && p.channels > 1;
  p.count_padding = op.attributes().flag("count_include_pad");
  return p;
}

constexpr unsigned threads_of_block = 256; ///< Of a kernel compiled by NVRTC.

using PoolKernel = EmbeddedKernel<1, PoolParameters>;

TacticList window_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  offer(list, op.type().dtype(), target, image_layouts(op.input(0).shape()),
        [&](std::optional<DType> kept, const Layout& layout) {
          Tactic tactic;
          tactic.kernel = "pool";
          if (adds_up(op)) tactic.accumulates = accumulated_in(op.kind());
          tactic.inputs.assign(node.inputs().size(), on_device(target, layout, kept));
          tactic.outputs.assign(node.outputs().size(),
                                on_device(target, canonical(layout, op.type().shape()), kept));
          tactic.estimate =
              seconds_of({.bytes = 12.0 * static_cast<double>(op.input(0).shape().elements())}, target);
          return tactic;
        });
  return list;
}

std::unique_ptr<Kernel> window_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  const GroupOp& op = p.group.ops().front();
  const Storage &from = p.tactic.inputs.at(0), &to = p.tactic.outputs.at(0);
  const DType type = to.dtype.value_or(op.type().dtype());
  const PoolParameters parameters = parameters_of(op, from.layout, to.layout);
  if (const auto pack = nvrtc_status().found ? pool_pack(parameters, type) : std::nullopt) {
    const Pool pool{op.kind() == "max_pool", type, parameters, *pack};
    const auto blocks = static_cast<unsigned>((pool_threads(pool) + threads_of_block - 1) / threads_of_block);
    return std::make_unique<PointerKernel>(compiled_function(gpu, pool_source(pool), "pool"),
                                           Grid{blocks, threads_of_block, 0}, std::vector<std::size_t>{0}, 1);
  }
  const std::string function = fmt::format("{}_{}", op.kind(), suffix(type));
  return std::make_unique<PoolKernel>(embedded_function(gpu, "windows", function.c_str()),
                                      grid_for(gpu, op.type().shape().elements()), parameters);
}

} // namespace

extern const KernelFamily window_family{"pool", KernelTrust::own(), window_tactics, window_prepare};

} // namespace lanner::cuda
