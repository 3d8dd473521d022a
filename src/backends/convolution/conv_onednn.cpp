// Convolutions and their transposes with a fused epilogue.

#include <algorithm>
#include <numeric>

#include "backends/estimate.h"
#include "backends/onednn/families.h"
#include "backends/onednn/implementations.h"
#include "backends/onednn/nan_guard.h"
#include "backends/onednn/post_ops.h"
#include "backends/onednn/window.h"
#include "backends/storage_layout.h"
#include "base/check.h"

namespace lanner::onednn {

namespace {

constexpr std::size_t channel_axis = 1;

/// The anchor's operands, shapes and epilogue.
struct Conv {
  bool transposed;
  DType type; ///< That values of f32 are stored in: f32 or bf16.
  Operand src, weights, bias;
  Shape input, filter, output;
  std::int64_t groups;
  Window window;
  Epilogue epilogue;

  std::int64_t outputs_per_group() const { return output[1] / groups; }
  std::int64_t inputs_per_group() const { return input[1] / groups; }

  /// oneDNN's weight dims: outputs before inputs, groups first.
  Dims weight_dims() const {
    Dims dims;
    if (groups > 1) dims.push_back(groups);
    dims.push_back(outputs_per_group());
    dims.push_back(inputs_per_group());
    dims.insert(dims.end(), filter.begin() + 2, filter.end());
    return dims;
  }
  double operations() const {
    return 2.0 * static_cast<double>(transposed ? input.elements() : output.elements()) *
           static_cast<double>(filter.elements()) / static_cast<double>(filter[0]);
  }
};

/// The storage of an ONNX weight (outputs x inputs/group x ..., or, transposed, inputs x outputs/group x ...)
/// that equals oneDNN's layout of weight_dims(). Nothing when groups are blocked together with a dim inside a
/// group.
std::optional<Layout> weight_layout(const Conv& conv, const Layout& own) {
  // The letter of each of oneDNN's dims in ONNX's weight. With groups, g and the first of o and i share
  // dimension 0.
  std::vector<std::uint8_t> letters;
  const std::uint8_t o = conv.transposed ? 1 : 0, i = conv.transposed ? 0 : 1;
  if (conv.groups > 1) letters.push_back(0);
  letters.push_back(o);
  letters.push_back(i);
  for (std::size_t axis = 2; axis < conv.filter.rank(); ++axis)
    letters.push_back(static_cast<std::uint8_t>(axis));
  std::vector<std::uint8_t> order = own.order;
  if (order.empty()) {
    order.resize(letters.size());
    std::iota(order.begin(), order.end(), std::uint8_t{0});
  }

  Layout result;
  if (conv.groups == 1) {
    for (std::uint8_t dim : order) result.order.push_back(letters[dim]);
    for (const Layout::Block& block : own.blocks) result.blocks.push_back({letters[block.dim], block.size});
    return canonical(result, conv.filter);
  }
  const std::uint8_t inner = conv.transposed ? 2 : 1; // oneDNN's dim that shares dimension 0 with the groups.
  const Dims dims = conv.weight_dims();
  const bool single = dims[inner] == 1;
  std::int64_t inner_block = 1;
  for (const Layout::Block& block : own.blocks) {
    if (block.dim == 0 && !single) return std::nullopt;
    if (block.dim == inner) inner_block *= block.size;
    if (block.dim == inner && single) return std::nullopt;
    result.blocks.push_back({letters[block.dim], block.size});
  }
  if (dims[inner] % inner_block != 0) return std::nullopt;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (order[at] == inner && (single || (at > 0 && order[at - 1] == 0))) continue;
    if (order[at] == inner) return std::nullopt;
    result.order.push_back(letters[order[at]]);
  }
  return canonical(result, conv.filter);
}

std::optional<Conv> read_conv(const Group& group, bool transposed, DType type, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != (transposed ? "conv_transpose" : "conv")) return std::nullopt;
  Conv conv{transposed, type, op.input(0), op.input(1), op.input(2), {}, {}, {}, 1, {}, {}};
  conv.input = conv.src.shape();
  conv.filter = conv.weights.shape();
  conv.output = op.type().shape();
  conv.groups = op.attributes().integer("group", 1);
  const std::size_t rank = conv.input.rank();
  const bool reals = conv.src.dtype() == DType::f32 && conv.weights.dtype() == DType::f32 &&
                     (!conv.bias || conv.bias.dtype() == DType::f32);
  if (!reals || rank < 3 || rank > 5 || conv.input.elements() == 0 || conv.output.elements() == 0 ||
      conv.filter.elements() == 0) {
    reason = "supports non-empty f32 of rank 3 to 5";
    return std::nullopt;
  }
  if (conv.bias.is_op() || conv.weights.is_op()) return std::nullopt;
  const Dims kernel(conv.filter.begin() + 2, conv.filter.end());
  conv.window =
      (transposed ? transposed_window_of : window_of)(op.attributes(), kernel, conv.input, conv.output);
  auto epilogue = epilogue_of(group, channel_axis, reason);
  if (!epilogue) return std::nullopt;
  conv.epilogue = std::move(*epilogue);
  return conv;
}

/// A choice of layouts and residual. Layouts as oneDNN names them: it distinguishes layouts that canonical()
/// considers equal, when sizes are 1.
struct Variant {
  Layout src, dst;
  Residual residual;
};

struct Candidate {
  Descriptor descriptor;
  PostOps post;
};

/// `packed`: the weights' layout, where it is fixed already.
Candidate make(const Conv& conv, const Variant& variant, const std::optional<Desc>& packed = {}) {
  Candidate candidate;
  const auto src = describe(conv.input, variant.src, conv.type),
             dst = describe(conv.output, variant.dst, conv.type);
  auto post = post_ops(conv.epilogue, variant.residual, conv.output, variant.dst, channel_axis, conv.type);
  if (!src || !dst || !post) return candidate;
  const auto weights = packed ? packed : describe_any(conv.weight_dims(), conv.type);
  const auto bias = describe(Shape{conv.output[1]}, {}, DType::f32);
  if (!weights || !bias) return candidate;
  const auto make_descriptor = conv.transposed ? deconvolution : convolution;
  candidate.descriptor =
      make_descriptor(*src, *weights, conv.bias ? &*bias : nullptr, *dst, conv.window, attributes(post->ops));
  candidate.post = std::move(*post);
  return candidate;
}

std::vector<Variant> variants(const Conv& conv) {
  std::vector<Variant> result;
  // A result that overwrote its operand cannot be recomputed where a NaN was hidden.
  const std::vector<Residual> residuals = !adds_in_place(conv.epilogue) ? std::vector{Residual::none}
                                          : hides_nan(conv.epilogue)
                                              ? std::vector{Residual::read}
                                              : std::vector{Residual::in_place, Residual::read};
  for (const Layout& layout : activation_layouts(conv.input.rank()))
    for (Residual residual : residuals) {
      // Few input channels: oneDNN reads the row-major image itself and writes blocks.
      const bool from_row = !layout.blocks.empty() && conv.input[1] <= 4 && conv.groups == 1;
      result.push_back({from_row ? Layout{} : layout, layout, residual});
    }
  return result;
}

std::optional<Tactic> to_tactic(const Conv& conv, const Node& node, const Variant& variant,
                                const Candidate& candidate, const Implementation& implementation,
                                const Layout& weights, std::string_view kernel) {
  OperandStorages storages(node.inputs().size());
  storages.ask(conv.src, stored_real(canonical(variant.src, conv.input), conv.type));
  storages.ask(conv.weights, stored_real(weights, conv.type));
  storages.ask(conv.bias, {});
  if (!ask_operands(conv.epilogue, variant.dst, conv.output, storages, conv.type)) return std::nullopt;
  Tactic tactic;
  tactic.kernel = kernel;
  ConfigText config;
  name_implementation(config, implementation);
  config.set("src", variant.src.to_string()).set("dst", variant.dst.to_string());
  config.set("residual", static_cast<std::int64_t>(variant.residual));
  tactic.config = config.bytes();
  tactic.inputs = storages.take();
  tactic.outputs = {stored_real(canonical(variant.dst, conv.output), conv.type)};
  tactic.accumulates = DType::f32;
  if (candidate.post.added) {
    tactic.in_place = static_cast<int>(*candidate.post.added);
    tactic.required_in_place = true;
  }
  return tactic;
}

bool is_by_gemm(const Implementation& implementation) {
  return implementation.name.find("gemm") != std::string::npos;
}

/// Whether the value of input `added` is also another input, which writing in place would destroy.
bool reads_twice(const Group& group, std::size_t added) {
  const auto& inputs = group.inputs();
  return std::count(inputs.begin(), inputs.end(), inputs[added]) > 1 ||
         group.ops().front().input(0).index == added;
}

/// With groups, oneDNN's gemm convolution makes one product per group and image, whose few columns leave
/// vector lanes empty: an im2col element costs as much as so many operations elsewhere.
double operations_by(const Implementation& implementation, const Conv& conv) {
  constexpr double of_element = 500;
  if (conv.groups == 1 || !is_by_gemm(implementation)) return conv.operations();
  const double elements = conv.operations() / 2 / static_cast<double>(conv.outputs_per_group());
  return conv.operations() + of_element * elements;
}

/// oneDNN 2.6's convolutions by AMX fill a tile's depth of 32 with numbers of other pixels, times weights of
/// 0: a NaN or an infinity there spreads to results that do not depend on it.
bool spreads_nan(const Implementation& implementation, const Conv& conv) {
  constexpr std::int64_t depth = 32;
  return implementation.name.starts_with("jit") && implementation.name.find("amx") != std::string::npos &&
         conv.inputs_per_group() % depth != 0;
}

/// The name of the kernels.
std::string_view kernel_of(const Conv& conv) {
  if (conv.type == DType::bf16) return "conv_bf16";
  return conv.transposed ? "conv_transpose" : "conv";
}

template<bool transposed, DType type>
TacticList conv_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (type == DType::bf16 && !takes_bf16(target)) return list;
  const auto conv = read_conv(group, transposed, type, list.reason);
  if (!conv) return list;
  const ThreadCount count(target.threads);
  const std::string_view kernel = kernel_of(*conv);
  const double bytes =
      static_cast<double>(bit_width(type)) / 8 *
      (static_cast<double>(conv->input.elements()) + static_cast<double>(conv->filter.elements()) +
       static_cast<double>(conv->output.elements()));
  double slower = 1;
  for (const Variant& variant : variants(*conv)) {
    const Candidate candidate = make(*conv, variant);
    if (candidate.post.added && reads_twice(group, *candidate.post.added)) continue;
    for (const Implementation& implementation :
         implementations(candidate.descriptor, type == DType::bf16 ? 3 : 2)) {
      // oneDNN 2.6's gemm convolution misplaces operands in channels-last results, and is slower than the
      // others there.
      if ((!variant.dst.row_major() && is_by_gemm(implementation)) || spreads_nan(implementation, *conv))
        continue;
      const auto own = layout_of(implementation.descriptor.weights_desc());
      const auto weights = own ? weight_layout(*conv, *own) : std::nullopt;
      if (!weights || (!conv->weights.is_input() && !weights->row_major())) continue;
      auto tactic = to_tactic(*conv, node, variant, candidate, implementation, *weights, kernel);
      if (!tactic) continue;
      const double cost = seconds_of({.operations = operations_by(implementation, *conv) / speedup_of(type),
                                      .bytes = bytes,
                                      .threads = target.threads},
                                     target);
      tactic->estimate = cost * slower * (variant.residual == Residual::read ? 1.05 : 1);
      list.tactics.push_back(std::move(*tactic));
      slower += 0.1;
    }
  }
  if (list.tactics.empty()) list.reason = "no implementation with a weight layout that plans can hold";
  return list;
}

std::vector<Argument> arguments_of(const Conv& conv, const Descriptor& descriptor,
                                   std::vector<Argument> arguments) {
  arguments.push_back(argument(DNNL_ARG_SRC, descriptor.src_desc(), conv.src));
  arguments.push_back(argument(DNNL_ARG_WEIGHTS, descriptor.weights_desc(), conv.weights));
  if (conv.bias) arguments.push_back(argument(DNNL_ARG_BIAS, descriptor.weights_desc(1), conv.bias));
  arguments.push_back(output_argument(DNNL_ARG_DST, descriptor.dst_desc()));
  return arguments;
}

/// The convolution without the steps that hide a NaN, by the same implementation where that has it.
Deferred unhidden(Conv conv, const Variant& variant, const Implementation& chosen, int threads) {
  conv.epilogue = before_hiding(conv.epilogue);
  Candidate candidate = make(conv, variant, chosen.descriptor.weights_desc());
  check(static_cast<bool>(candidate.descriptor), ErrorCode::unsupported,
        "onednn: the convolution is not available without its activation");
  const Descriptor first = at_this_implementation(candidate.descriptor);
  Descriptor& found = candidate.descriptor;
  while (found.impl_info_str() != chosen.name && found.next_impl()) continue;
  const Descriptor& taken = found.impl_info_str() == chosen.name ? found : first;
  return {taken, arguments_of(conv, taken, std::move(candidate.post.arguments)), threads};
}

template<bool transposed, DType type>
std::unique_ptr<Kernel> conv_prepare(const Preparation& p) {
  std::string reason;
  const auto conv = read_conv(p.group, transposed, type, reason);
  check(conv.has_value(), ErrorCode::internal, "onednn: conv: {}", reason);
  const ConfigText config(p.tactic.config);
  const Variant variant{Layout::parse(config.text("src")), Layout::parse(config.text("dst")),
                        static_cast<Residual>(config.integer("residual"))};
  check(canonical(variant.src, conv->input) == p.tactic.inputs.at(conv->src.index).layout &&
            canonical(variant.dst, conv->output) == p.tactic.outputs.at(0).layout,
        ErrorCode::bad_data, "onednn: conv: configuration and storages disagree: build the plan again");
  const ThreadCount count(p.target.threads);
  Candidate candidate = make(*conv, variant);
  const auto again = [&] { return make(*conv, variant).descriptor; };
  const Implementation chosen = find_implementation(again, config);
  const auto own = layout_of(chosen.descriptor.weights_desc());
  const auto weights = own ? weight_layout(*conv, *own) : std::nullopt;
  const Layout given = conv->weights.is_input() ? p.tactic.inputs.at(conv->weights.index).layout : Layout{};
  check(weights && *weights == given, ErrorCode::unsupported,
        "onednn: {} expects another weight layout than {}: build the plan again", chosen.name,
        given.to_string());

  check(!candidate.post.added || !hides_nan(conv->epilogue), ErrorCode::unsupported,
        "onednn: conv: an activation after an in-place sum is not supported: build the plan again");
  const int threads = p.target.threads;
  auto fast = std::make_unique<Execution>(
      chosen.descriptor, arguments_of(*conv, chosen.descriptor, std::move(candidate.post.arguments)),
      threads);
  if (!hides_nan(conv->epilogue)) return fast;
  return guarded(std::move(fast), anchor_and_steps(unhidden(*conv, variant, chosen, threads), conv->epilogue,
                                                   conv->output, variant.dst, channel_axis, type));
}

template<bool transposed>
bool conv_fuses(const Group& group, const Target&) {
  std::string reason;
  const auto conv = read_conv(group, transposed, DType::f32, reason);
  return conv && post_ops(conv->epilogue, Residual::none, conv->output, {}, channel_axis).has_value();
}

} // namespace

extern const KernelFamily conv_family{"conv", swept_versions, conv_tactics<false, DType::f32>,
                                      conv_prepare<false, DType::f32>, conv_fuses<false>};
extern const KernelFamily conv_transpose_family{"conv_transpose", swept_versions,
                                                conv_tactics<true, DType::f32>,
                                                conv_prepare<true, DType::f32>, conv_fuses<true>};
extern const KernelFamily conv_bf16_family{"conv_bf16", KernelTrust::none(), conv_tactics<false, DType::bf16>,
                                           conv_prepare<false, DType::bf16>};

} // namespace lanner::onednn
