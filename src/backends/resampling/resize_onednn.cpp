// resize by nearest and linear interpolation, for the coordinates that oneDNN's resampling uses.

#include "backends/onednn/single.h"

namespace lanner::onednn {

namespace {

/// oneDNN's nearest takes the input pixel nearest to the output pixel's centre, with ties rounded up for
/// integer upscaling; its linear is ONNX's half_pixel with clamped edges.
bool takes(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "resize") return false;
  const AttributeMap& a = op.attributes();
  const Shape input = op.input(0).shape(), output = op.type().shape();
  constexpr std::int64_t longest =
      1 << 22; // oneDNN allocates tables for each axis, which the memory limits do not count
  reason = "supports f32 of rank 3 to 5, nearest with integer factors or half-pixel linear, with "
           "spatial axes of up to 4194304";
  if (op.input(0).dtype() != DType::f32 || input.rank() < 3 || input.rank() > 5) return false;
  if (input[0] != output[0] || input[1] != output[1] || a.flag("antialias") || a.has("axes")) return false;
  const std::string mode = a.string("mode", "nearest"),
                    place = a.string("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = a.string("nearest_mode", "round_prefer_floor");
  bool whole = true;
  for (std::size_t i = 2; i < input.rank(); ++i)
    whole &= input[i] > 0 && output[i] % input[i] == 0 && output[i] <= longest;
  // With integer factors, floor of asymmetric coordinates equals rounding of half-pixel ones.
  const bool nearest = mode == "nearest" && whole &&
                       ((place == "asymmetric" && rounding == "floor") ||
                        (place == "half_pixel" && rounding.starts_with("round")));
  const bool linear = mode == "linear" && place == "half_pixel" && whole;
  if (!nearest && !linear) return false;
  reason.clear();
  return true;
}

Primitive make(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const auto src = describe(op.input(0).shape(), from, DType::f32),
             dst = describe(op.type().shape(), to, DType::f32);
  if (!src || !dst) return {};
  const bool nearest = op.attributes().string("mode", "nearest") == "nearest";
  return {resampling(nearest ? dnnl::algorithm::resampling_nearest : dnnl::algorithm::resampling_linear, *src,
                     *dst, attributes()),
          {argument(DNNL_ARG_SRC, *src, op.input(0)), output_argument(DNNL_ARG_DST, *dst)}};
}

constexpr SinglePrimitive single{"resize", takes, make};

} // namespace

extern const KernelFamily resize_family{
    "resize", swept_versions,
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(single, n, g, t); },
    [](const Preparation& p) { return single_prepare(single, p); }};

} // namespace lanner::onednn
