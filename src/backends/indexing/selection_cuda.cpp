// non_zero and non_max_suppression, whose output sizes depend on data: late kernels only.

#include <algorithm>
#include <limits>

#include "backends/cuda/storage.h"
#include "backends/family.h"
#include "backends/indexing/selection_kernel.h"
#include "device/cuda/code.h"
#include "ops/detection/suppression.h"

namespace lanner::cuda {
namespace {

/// The bits of an element without its sign; 0 for unsupported types.
std::uint64_t value_bits(DType type) {
  const bool whole = type == DType::boolean || type == DType::u8 || type == DType::i8 || type == DType::u16 ||
                     type == DType::i16 || type == DType::u32 || type == DType::i32 || type == DType::u64 ||
                     type == DType::i64;
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bit_width(type));
  return whole ? all : is_real(type) || type == DType::f64 ? all >> 1 : 0;
}

bool takes(const Node& node, std::string& reason) {
  if (node.kind() == "non_zero") {
    const Type& x = node.input(0)->type;
    if (value_bits(x.dtype()) && x.rank() > 0 && x.rank() <= max_index_axes) return true;
    reason = "non_zero: supports floats, integers and booleans of rank 1 to 8";
    return false;
  }
  if (node.kind() != "non_max_suppression") return false;
  const Type &boxes = node.input(0)->type, &scores = node.input(1)->type;
  const std::int64_t blocks = scores.shape()[0] * scores.shape()[1];
  if (boxes.dtype() == DType::f32 && scores.dtype() == DType::f32 && scores.shape()[2] <= INT32_MAX &&
      blocks > 0 && blocks <= INT32_MAX)
    return true;
  reason = "non_max_suppression: supports f32 with fewer than 2^31 boxes and classes";
  return false;
}

TacticList selection_tactics(const Node& node, const Group&, const Target& target) {
  TacticList list;
  if (!takes(node, list.reason)) return list;
  Tactic tactic;
  tactic.kernel = "selection";
  tactic.inputs.assign(node.inputs().size(), target.storage());
  tactic.outputs = {target.storage()};
  list.tactics.push_back(std::move(tactic));
  return list;
}

/// Two launches; the first one's results are in the workspace.
class SelectionKernel : public Kernel {
public:
  SelectionKernel(const Gpu& gpu, const std::string& find, const std::string& list, Grid grid)
      : find_(embedded_function(gpu, "selections", find.c_str())),
        list_(embedded_function(gpu, "selections", list.c_str())), grid_(grid) {}
  bool on_stream() const final { return true; }

protected:
  std::size_t counts_bytes() const { return grid_.blocks * sizeof(std::int64_t); }

  FunctionHandle find_, list_;
  Grid grid_;
};

class NonZeroKernel final : public SelectionKernel {
public:
  NonZeroKernel(const Gpu& gpu, std::size_t element, Grid grid, const NonZeroParameters& p)
      : SelectionKernel(gpu, fmt::format("count_non_zero_{}", element),
                        fmt::format("place_non_zero_{}", element), grid),
        parameters_(p) {}
  std::size_t workspace() const override { return counts_bytes(); }
  void launch(const Launch& launch) const override {
    cuda::launch(find_, grid_, launch.stream, launch.inputs[0], launch.workspace, parameters_);
    cuda::launch(list_, grid_, launch.stream, launch.inputs[0], launch.workspace, launch.outputs[0],
                 launch.outputs[1], parameters_);
  }

private:
  NonZeroParameters parameters_;
};

class SuppressionKernel final : public SelectionKernel {
public:
  SuppressionKernel(const Gpu& gpu, Grid grid, const SuppressionParameters& p)
      : SelectionKernel(gpu, "suppress_boxes", "list_boxes", grid), parameters_(p) {}
  std::size_t workspace() const override {
    return kept_at() + grid_.blocks * static_cast<std::size_t>(parameters_.most) * sizeof(std::int32_t);
  }
  void launch(const Launch& launch) const override {
    auto* workspace = static_cast<std::byte*>(launch.workspace);
    void *counts = workspace, *candidates = workspace + counts_bytes(), *kept = workspace + kept_at();
    cuda::launch(find_, grid_, launch.stream, launch.inputs[0], launch.inputs[1], candidates, kept, counts,
                 parameters_);
    cuda::launch(list_, grid_, launch.stream, kept, counts, launch.outputs[0], launch.outputs[1],
                 parameters_);
  }

private:
  std::size_t kept_at() const {
    return counts_bytes() + grid_.blocks * static_cast<std::size_t>(parameters_.boxes) * sizeof(Candidate);
  }

  SuppressionParameters parameters_;
};

std::unique_ptr<Kernel> prepare_non_zero(const Node& node, const Gpu& gpu) {
  const Type& x = node.input(0)->type;
  NonZeroParameters p;
  p.elements = x.shape().elements();
  p.value_bits = value_bits(x.dtype());
  p.rank = static_cast<int>(x.rank());
  std::ranges::copy(x.shape().dims(), p.sizes);
  const Grid grid = grid_for(gpu, p.elements);
  p.chunk = (p.elements + grid.blocks - 1) / grid.blocks;
  return std::make_unique<NonZeroKernel>(gpu, bit_width(x.dtype()) / 8, grid, p);
}

std::unique_ptr<Kernel> prepare_suppression(const Preparation& preparation, const Gpu& gpu) {
  const Node& node = preparation.node;
  std::vector<Tensor> inputs(node.inputs().size());
  for (std::size_t i = 2; i < inputs.size(); ++i)
    if (preparation.constants[i]) inputs[i] = *preparation.constants[i];
  const ops::Thresholds limit = ops::thresholds_of(inputs);
  const Shape& scores = node.input(1)->type.shape();
  SuppressionParameters p;
  p.classes = scores[1];
  p.boxes = scores[2];
  p.most = std::min(limit.most, p.boxes);
  p.overlap = limit.overlap;
  p.score = limit.score;
  p.centered = node.attributes.flag("center_point_box");
  const Grid grid{.blocks = static_cast<unsigned>(scores[0] * scores[1]),
                  .threads = p.boxes > 1024 ? 1024U : 256U};
  return std::make_unique<SuppressionKernel>(gpu, grid, p);
}

std::unique_ptr<Kernel> selection_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  if (p.node.kind() == "non_zero") return prepare_non_zero(p.node, gpu);
  return prepare_suppression(p, gpu);
}

TacticList no_tactics(const Node&, const Group&, const Target&) {
  return {};
}

} // namespace

extern const KernelFamily selection_family{.kernel = "selection",
                                           .trust = KernelTrust::own(),
                                           .tactics = no_tactics,
                                           .prepare = selection_prepare,
                                           .late = selection_tactics};

} // namespace lanner::cuda
