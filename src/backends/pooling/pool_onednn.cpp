// max_pool, average_pool and their global forms.

#include <algorithm>

#include "backends/onednn/single.h"
#include "backends/onednn/window.h"
#include "backends/reference/reference_backend.h"

namespace lanner::onednn {

namespace {

bool is_global(const GroupOp& op) {
  return op.kind().starts_with("global_");
}
bool is_average(const GroupOp& op) {
  return op.kind().ends_with("average_pool");
}

Dims kernel_of(const GroupOp& op) {
  const Shape input = op.input(0).shape();
  if (is_global(op)) return Dims(input.begin() + 2, input.end());
  const auto kernel = op.attributes().integers("kernel_shape");
  return Dims(kernel.begin(), kernel.end());
}

Window pool_window(const GroupOp& op) {
  const Shape input = op.input(0).shape(), output = op.type().shape();
  if (is_global(op)) {
    const Dims kernel = kernel_of(op);
    return {kernel, Dims(kernel.size(), 1), Dims(kernel.size(), 1), Dims(kernel.size(), 0),
            Dims(kernel.size(), 0)};
  }
  return window_of(op.attributes(), kernel_of(op), input, output);
}

bool includes_padding(const GroupOp& op) {
  return op.attributes().flag("count_include_pad");
}

/// oneDNN divides by the whole window when it includes padding, even the part that ceil_mode adds beyond the
/// padding; ONNX does not.
bool reaches_beyond_padding(const GroupOp& op, const Window& window) {
  const auto pads = op.attributes().integers("pads");
  for (std::size_t i = 0; i < window.end.size(); ++i)
    if (window.end[i] > (pads.empty() ? 0 : pads[window.end.size() + i])) return true;
  return false;
}

/// Longest chain of serial additions; cpu:reduce, which sums whole images, has the same bound.
constexpr std::int64_t longest_chain = 64;

bool takes(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  static constexpr std::string_view kinds[] = {"max_pool", "average_pool", "global_max_pool",
                                               "global_average_pool"};
  if (std::find(std::begin(kinds), std::end(kinds), op.kind()) == std::end(kinds)) return false;
  const std::size_t rank = op.input(0).shape().rank();
  const bool indices = op.node->outputs().size() > 1 && !op.node->output(1)->unused();
  if (op.input(0).dtype() != DType::f32 || rank < 3 || rank > 5 || indices) {
    reason = "supports f32 of rank 3 to 5, without the indices output";
    return false;
  }
  const Window window = pool_window(op);
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (window.begin[i] < extent && window.end[i] < extent) continue;
    reason = "a pool's padding must be less than its window";
    return false;
  }
  if (is_average(op) && includes_padding(op) && reaches_beyond_padding(op, window)) {
    reason = "average_pool with count_include_pad reaches beyond the padding";
    return false;
  }
  if (is_global(op) && is_average(op) && Shape(window.kernel).elements() > longest_chain) {
    reason = "sums a whole image in one chain of additions, which loses precision";
    return false;
  }
  return true;
}

template<DType type>
Primitive make(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const auto src = describe(op.input(0).shape(), from, type), dst = describe(op.type().shape(), to, type);
  if (!src || !dst) return {};
  using A = dnnl::algorithm;
  const A algorithm = !is_average(op)        ? A::pooling_max
                      : includes_padding(op) ? A::pooling_avg_include_padding
                                             : A::pooling_avg_exclude_padding;
  return {pooling(algorithm, *src, *dst, pool_window(op), attributes()),
          {argument(DNNL_ARG_SRC, *src, op.input(0)), output_argument(DNNL_ARG_DST, *dst)}};
}

/// oneDNN's maximum skips NaN.
const Backend* keeper(const GroupOp& op) {
  return is_average(op) ? nullptr : &reference_backend();
}

constexpr SinglePrimitive single{"pool", takes, make<DType::f32>, false, keeper};
constexpr SinglePrimitive narrow{"pool_bf16", takes, make<DType::bf16>, false, keeper, DType::bf16};

} // namespace

extern const KernelFamily pool_family{
    "pool", swept_versions,
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(single, n, g, t); },
    [](const Preparation& p) { return single_prepare(single, p); }};
extern const KernelFamily pool_bf16_family{
    "pool_bf16", KernelTrust::none(),
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(narrow, n, g, t); },
    [](const Preparation& p) { return single_prepare(narrow, p); }};

} // namespace lanner::onednn
