// roi_align, of images stored channels first or last, as convolutions write them.

#include <algorithm>

#include "backends/cuda/embedded_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/pooling/roi_kernel.h"

namespace lanner::cuda {
namespace {

bool takes(const Node& node, std::string& reason) {
  if (node.kind() != "roi_align") return false;
  const Type &x = node.input(0)->type, &boxes = node.input(1)->type, &numbers = node.input(2)->type;
  const bool matched = boxes.rank() == 2 && boxes.shape()[1] == 4 && numbers.rank() == 1 &&
                       numbers.shape()[0] == boxes.shape()[0];
  if (x.dtype() == DType::f32 && x.rank() == 4 && boxes.dtype() == DType::f32 &&
      numbers.dtype() == DType::i64 && matched && x.shape()[2] < INT32_MAX && x.shape()[3] < INT32_MAX)
    return true;
  reason = "supports f32 images of rank 4, f32 boxes of four numbers and i64 batch indices";
  return false;
}

RoiParameters parameters_of(const Node& node, const Layout& layout) {
  const Shape x = node.input(0)->type.shape(), y = node.output()->type.shape();
  RoiParameters p;
  p.images = x[0];
  p.channels = x[1];
  std::ranges::copy(layout.strides(x), p.source);
  p.height = static_cast<int>(x[2]);
  p.width = static_cast<int>(x[3]);
  p.rows = static_cast<int>(y[2]);
  p.columns = static_cast<int>(y[3]);
  p.ratio = static_cast<int>(node.attributes.integer("sampling_ratio", 0));
  p.scale = node.attributes.real("spatial_scale", 1);
  p.half_pixel = node.attributes.string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  p.average = node.attributes.string("mode", "avg") == "avg";
  return p;
}

using RoiKernel = EmbeddedKernel<3, std::int64_t, RoiParameters>;

TacticList roi_tactics(const Node& node, const Group&, const Target& target) {
  TacticList list;
  if (!takes(node, list.reason)) return list;
  offer(list, DType::f32, target, image_layouts(node.input(0)->type.shape()),
        [&](std::optional<DType> kept, const Layout& layout) {
          Tactic tactic;
          tactic.kernel = "roi_align";
          tactic.accumulates = DType::f64;
          tactic.inputs = {on_device(target, layout, kept), target.storage(), target.storage()};
          tactic.outputs = {on_device(target, {}, kept)};
          // Per result, for boxes of usual sizes.
          constexpr double samples = 4, operations = 16, read = 16;
          const double results = static_cast<double>(node.output()->type.shape().elements());
          tactic.estimate = seconds_of(
              {.operations = samples * operations * results, .bytes = samples * read * results}, target);
          return tactic;
        });
  return list;
}

std::unique_ptr<Kernel> roi_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  const std::int64_t count = p.node.output()->type.shape().elements();
  const DType type = p.tactic.outputs.at(0).dtype.value_or(DType::f32);
  const std::string function = fmt::format("roi_align_{}", suffix(type));
  return std::make_unique<RoiKernel>(embedded_function(gpu, "rois", function.c_str()), grid_over(gpu, count),
                                     count, parameters_of(p.node, p.tactic.inputs.at(0).layout));
}

} // namespace

extern const KernelFamily roi_family{"roi_align", KernelTrust::own(), roi_tactics, roi_prepare};

} // namespace lanner::cuda
