// A network's first convolution: images of up to four channels in f16 or bf16, compiled by NVRTC for its
// sizes. It reads images in the memory order that they have, so nothing is converted before it.

#include <algorithm>

#include "backends/convolution/convolution_window.h"
#include "backends/convolution/image_matrix.h"
#include "backends/convolution/stem_source.h"
#include "backends/cuda/families.h"
#include "backends/cuda/pointer_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/epilogue.h"
#include "backends/estimate.h"
#include "backends/operand_storages.h"
#include "backends/product/matrix_kernel.h"
#include "backends/product/matrix_tiles.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/cuda/code.h"

namespace lanner::cuda {
namespace {

constexpr std::size_t channel_axis = 1;

struct StemConv {
  Operand src, weights, bias;
  Epilogue epilogue;
  Stem stem;
};

bool spreads_over_pixels(const Epilogue& epilogue) {
  return std::ranges::none_of(
      epilogue, [](const EpilogueStep& step) { return step.binary && step.spread == Spread::full; });
}

std::optional<StemConv> read(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "conv") return std::nullopt;
  StemConv conv;
  conv.src = op.input(0);
  conv.weights = op.input(1);
  conv.bias = op.input(2);
  const Shape x = conv.src.shape(), filter = conv.weights.shape(), &y = op.type().shape();
  if (x.rank() != 4 || x[1] > 4 || x[1] == 0 || filter[1] != x[1]) return std::nullopt; // Others' work.
  reason = "the image and the filter must be inputs of the group, both f32, f16 or bf16; the image below "
           "2^31 elements; filters a multiple of 8, at most 128";
  if (!is_real(conv.src.dtype()) || conv.weights.dtype() != conv.src.dtype() || !conv.src.is_input() ||
      !conv.weights.is_input() || x.elements() > INT32_MAX || x.elements() == 0 || y.elements() == 0)
    return std::nullopt;
  auto epilogue = epilogue_of(group, channel_axis, reason, &conv.stem.rounding);
  if (!epilogue || !takes_steps(conv.bias, *epilogue, reason)) return std::nullopt;
  if (!spreads_over_pixels(*epilogue)) {
    reason = "the epilogue's operands must have one element, or one per filter";
    return std::nullopt;
  }
  conv.epilogue = std::move(*epilogue);
  Stem& stem = conv.stem;
  stem.batch = x[0];
  stem.channels = x[1];
  stem.filters = filter[0];
  const ops::Window window = window_of(op.attributes(), x, y, std::span(filter.dims()).subspan(2));
  constexpr std::int64_t largest = 1 << 20;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t sizes[] = {window.image[i],   window.positions[i], window.kernel[i],
                                  window.strides[i], window.dilations[i], window.begin[i]};
    if (std::ranges::any_of(sizes, [](std::int64_t size) { return size > largest; })) return std::nullopt;
    stem.size[i] = window.image[i];
    stem.result[i] = window.positions[i];
    stem.kernel[i] = window.kernel[i];
    stem.strides[i] = window.strides[i];
    stem.dilations[i] = window.dilations[i];
    stem.begin[i] = window.begin[i];
  }
  return conv;
}

/// Sets what the tactic's storages say, and returns the inputs of the node in the kernel's order.
std::vector<std::size_t> set_storages(StemConv& conv, const Tactic& tactic) {
  const DType own = conv.src.dtype();
  const Storage& src = tactic.inputs.at(conv.src.index);
  MatrixProblem problem;
  problem.columns = conv.stem.filters;
  std::vector<std::size_t> inputs{conv.src.index, conv.weights.index};
  std::ranges::copy(add_steps(problem, conv.bias, conv.epilogue, tactic), std::back_inserter(inputs));
  conv.stem.steps = std::move(problem.steps);
  conv.stem.type = tactic.inputs.at(conv.weights.index).dtype.value_or(own);
  conv.stem.image = src.dtype.value_or(own);
  conv.stem.channels_last = !src.layout.order.empty();
  return inputs;
}

double seconds_of_stem(const Stem& stem, const Target& target) {
  const double pixels = static_cast<double>(stem.batch * stem.result[0] * stem.result[1]);
  const double taps = static_cast<double>(stem.kernel[0] * ((stem.kernel[1] + 3) / 4) * 16);
  const double image = static_cast<double>(stem.batch * stem.channels * stem.size[0] * stem.size[1]);
  const double bytes =
      2 * pixels * static_cast<double>(stem.filters) + image * static_cast<double>(bit_width(stem.image)) / 8;
  return seconds_of({.operations = 4 * pixels * taps * static_cast<double>(stem.filters),
                     .bytes = 1.2 * bytes,
                     .halves = true},
                    target);
}

std::optional<Tactic> tactic_of(const StemConv& conv, const Storage& image, std::optional<DType> kept,
                                const Node& node, const Target& target) {
  const Shape result = node.output()->type.shape();
  OperandStorages storages(node.inputs().size(), on_device(target, Layout{}));
  storages.ask(conv.src, image);
  storages.ask(conv.weights, on_device(target, Layout{}, kept));
  storages.ask(conv.bias, on_device(target, Layout{}));
  for (const EpilogueStep& step : conv.epilogue) storages.ask(step.operand, on_device(target, Layout{}));
  if (!storages.agree()) return std::nullopt;
  Tactic tactic;
  tactic.kernel = "stem";
  tactic.inputs = storages.take();
  tactic.outputs = {on_device(target, pixels_layout(result), conv.stem.rounding ? std::nullopt : kept)};
  tactic.accumulates = DType::f32;
  StemConv set = conv;
  set_storages(set, tactic);
  const std::int64_t shared = most_shared_bytes(Gpu::get(target.device).capability());
  if (!stem_fits(set.stem, shared)) return std::nullopt;
  tactic.estimate = seconds_of_stem(set.stem, target);
  return tactic;
}

TacticList stem_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto conv = read(group, list.reason);
  if (!conv) return list;
  list.reason = matrix_missing(target);
  if (!list.reason.empty()) return list;
  const DType own = conv->src.dtype();
  for (const std::optional<DType> kept : half_types(own, target)) {
    std::vector<Storage> images{on_device(target, Layout{}, kept)};
    if (conv->stem.channels > 1) images.push_back(on_device(target, pixels_layout(conv->src.shape()), kept));
    if (kept && own == DType::f32) images.push_back(on_device(target, Layout{}));
    for (const Storage& image : images)
      if (auto tactic = tactic_of(*conv, image, kept, node, target))
        list.tactics.push_back(std::move(*tactic));
  }
  return list;
}

/// As many blocks as run at once, each of which takes several tiles.
Grid grid_of(const Stem& stem, const Gpu& gpu) {
  constexpr std::int64_t shared_of_all = 227 << 10;
  const std::int64_t each =
      std::clamp<std::int64_t>(shared_of_all / (stem.shared_bytes() + 1024), 1, stem.blocks_each());
  return {static_cast<unsigned>(std::min(stem.tiles(), each * gpu.multiprocessors())), stem_block,
          static_cast<unsigned>(stem.shared_bytes())};
}

std::unique_ptr<Kernel> stem_prepare(const Preparation& p) {
  std::string reason;
  auto conv = read(p.group, reason);
  check_taken(conv.has_value(), p, reason);
  std::vector<std::size_t> inputs = set_storages(*conv, p.tactic);
  const Gpu& gpu = Gpu::get(p.target.device);
  lanner::check(conv->stem.type != DType::f32 && stem_fits(conv->stem, most_shared_bytes(gpu.capability())),
                ErrorCode::unsupported, "cuda: stem: its filters do not fit this GPU: build the plan again");
  const Grid grid = grid_of(conv->stem, gpu);
  const FunctionHandle function = compiled_function(gpu, stem_source(conv->stem), "stem", grid.shared_bytes);
  return std::make_unique<PointerKernel>(function, grid, std::move(inputs), 1);
}

bool stem_fuses(const Group& group, const Target& target) {
  std::string reason;
  const auto conv = read(group, reason);
  return conv && conv->epilogue.size() + 4 <= PointerKernel::max_pointers && matrix_missing(target).empty();
}

} // namespace

extern const KernelFamily stem_family{.kernel = "stem",
                                      .trust = KernelTrust::own(),
                                      .tactics = stem_tactics,
                                      .prepare = stem_prepare,
                                      .fuses = stem_fuses};

} // namespace lanner::cuda
