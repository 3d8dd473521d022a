// Convolutions and products of bytes by oneDNN, on processors with VNNI or AMX.

#include <cmath>

#include "backends/config_text.h"
#include "backends/contraction/contraction.h"
#include "backends/contraction/contraction_kernel.h"
#include "backends/estimate.h"
#include "backends/onednn/families.h"
#include "backends/onednn/implementations.h"
#include "backends/onednn/post_ops.h"
#include "backends/operand_storages.h"
#include "backends/storage_layout.h"
#include "base/check.h"

namespace lanner::onednn {

namespace {

/// What follows the sums: value = (sum + bias) * scale of its column, then `ops`. In units of the added
/// operand or of the result where all steps allow that, so that fewer of them are needed.
struct Finish {
  std::vector<float> scales, bias;
  dnnl::post_ops ops;
  std::optional<std::pair<int, Operand>> added; ///< Its place among the operations.
};

bool keeps_units(const ContractionStep& step) {
  if (step.operand) return step.stored && step.formula->name == "add" && step.spread == Spread::full;
  return step.formula->name == "relu";
}

bool append_call(dnnl::post_ops& ops, const char* name, float alpha, float beta) {
  return append(ops, {&formula(name), alpha, beta});
}

/// Nothing where a step has no post-operation, as one that quantises and dequantises has none.
std::optional<Finish> finish_of(const Contraction& c, const Preparation* p, const Layout& layout) {
  if (std::ranges::any_of(c.steps, [](const ContractionStep& step) { return bool(step.rounded); }))
    return std::nullopt;
  const auto columns = [&](const Operand& operand) {
    return column_numbers(operand, c.columns(), p && operand ? prepared_constant(operand, *p) : nullptr);
  };
  const bool homogeneous = std::ranges::all_of(c.steps, keeps_units);
  const auto sum =
      std::ranges::find_if(c.steps, [](const ContractionStep& step) { return bool(step.operand); });
  if (!homogeneous && sum != c.steps.end()) return std::nullopt;
  if (std::ranges::count_if(c.steps, [](const ContractionStep& step) { return bool(step.operand); }) > 1)
    return std::nullopt;
  const double unit = !homogeneous           ? 1
                      : sum != c.steps.end() ? static_cast<double>(sum->stored->scale)
                      : c.quantised          ? static_cast<double>(c.quantised->scale)
                                             : 1;
  // A zero point of the added operand, which follows, is taken off with the bias; a ReLU before it would see
  // that.
  const double zero = sum != c.steps.end() ? sum->stored->zero : 0;
  if (zero != 0 && sum != c.steps.begin()) return std::nullopt;
  Finish finish;
  const std::vector<double> weights = columns(c.weight_scale), bias = columns(c.bias);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double real = static_cast<double>(c.x.by.scale) * weights[i];
    finish.scales.push_back(static_cast<float>(real / unit));
    finish.bias.push_back(static_cast<float>(bias[i] / real - zero * unit / real));
  }
  for (const ContractionStep& step : c.steps) {
    if (!step.operand) {
      if (!append(finish.ops, {step.formula, step.numbers.p, step.numbers.q})) return std::nullopt;
      continue;
    }
    const auto desc = describe(c.output, layout, step.operand.dtype());
    if (!desc) return std::nullopt;
    finish.added = {finish.ops.len(), step.operand};
    finish.ops.append_binary(dnnl::algorithm::binary_add, *desc);
  }
  if (!c.quantised)
    return unit == 1 || append_call(finish.ops, "linear", static_cast<float>(unit), 0)
               ? std::optional(std::move(finish))
               : std::nullopt;
  const auto factor = static_cast<float>(unit / static_cast<double>(c.quantised->scale));
  if ((factor != 1 || c.quantised->zero != 0) &&
      !append_call(finish.ops, "linear", factor, static_cast<float>(c.quantised->zero)))
    return std::nullopt;
  return finish;
}

struct Int8Candidate {
  Descriptor descriptor;
  Desc src, plain_weights, dst;
  std::optional<Desc> bias;
  Finish finish;
};

/// Rows of pixels as one product, or a convolution with two spatial axes, channels last.
Layout layout_for(const Contraction& c) {
  return c.conv ? Layout::channels_last(4) : Layout{};
}

Dims weight_dims(const Contraction& c) {
  if (!c.conv) return {c.columns(), c.depth()};
  Dims dims;
  if (c.groups > 1) dims.push_back(c.groups);
  dims.insert(dims.end(), {c.group_columns(), c.channels()});
  dims.insert(dims.end(), c.filter.begin() + 2, c.filter.end());
  return dims;
}

Window window_of(const Contraction& c) {
  const ops::Window& w = c.window;
  Window result{w.kernel, w.strides, w.dilations, w.begin, {}};
  for (std::size_t i = 0; i < w.begin.size(); ++i) {
    const std::int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t needed = (w.positions[i] - 1) * w.strides[i] + extent - w.image[i] - w.begin[i];
    result.end.push_back(std::max<std::int64_t>(needed, 0));
  }
  return result;
}

/// `p`: given where constants may be others than those of the graph.
std::optional<Int8Candidate> make(const Contraction& c, const Preparation* p) {
  const Layout layout = layout_for(c);
  const Shape in = c.conv ? c.input : Shape{c.rows(), c.depth()},
              out = c.conv ? c.output : Shape{c.rows(), c.columns()};
  const auto src = describe(in, layout, c.x.operand.dtype()), dst = describe(out, layout, c.type);
  const Dims dims = weight_dims(c);
  const auto weights = describe_any(dims, DType::i8);
  const auto plain = describe(c.conv ? Shape(dims) : c.filter, {}, DType::i8);
  const auto bias = describe(Shape{c.columns()}, {}, DType::f32);
  Contraction flat = c;
  flat.output = out;
  auto finish = finish_of(flat, p, layout);
  if (!src || !dst || !weights || !plain || !bias || !finish) return std::nullopt;
  dnnl::primitive_attr attr = attributes(finish->ops);
  if (!set_output_scales(attr, finish->scales)) return std::nullopt;
  if (c.x.by.zero != 0) set_source_zero(attr, c.x.by.zero);
  const bool biased = std::ranges::any_of(finish->bias, [](float x) { return x != 0; });
  Int8Candidate made{{}, *src, *plain, *dst, biased ? bias : std::nullopt, std::move(*finish)};
  made.descriptor = c.conv ? convolution(*src, *weights, biased ? &*bias : nullptr, *dst, window_of(c), attr)
                           : inner_product(*src, *weights, biased ? &*bias : nullptr, *dst, attr);
  return made;
}

std::optional<Contraction> read(const Group& group, bool conv, std::string& reason) {
  auto c = contraction_of(group, conv, reason);
  if (!c) return c;
  const bool taken = c->type != DType::i32 && c->weights.dtype() == DType::i8 && !c->has_weight_zeros() &&
                     !c->x_zero && (!c->conv || c->input.rank() == 4) && c->output.rank() >= 2;
  if (taken) return c;
  reason = "supports i8 weights without zero points, two spatial axes";
  return std::nullopt;
}

template<bool conv>
TacticList int8_tactics_of(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!has_vnni()) return list;
  const auto c = read(group, conv, list.reason);
  if (!c) return list;
  const ThreadCount count(target.threads);
  const auto candidate = make(*c, nullptr);
  if (!candidate) {
    list.reason = "a step has no post-operation";
    return list;
  }
  const Layout layout = layout_for(*c);
  OperandStorages storages(node.inputs().size());
  storages.ask(c->x.operand, stored(canonical(layout, c->input)));
  for (const Operand* operand : {&c->weights, &c->weight_scale, &c->weight_zero, &c->bias})
    storages.ask(*operand, {});
  if (candidate->finish.added)
    storages.ask(candidate->finish.added->second,
                 stored(operand_layout(canonical(layout, c->output), c->output.rank(),
                                       candidate->finish.added->second.shape())));
  if (!storages.agree()) return list;
  const std::vector<Storage> inputs = storages.take();
  double slower = 1;
  for (const Implementation& implementation : implementations(candidate->descriptor, 3)) {
    // As in f32, oneDNN 2.6's gemm convolution misplaces operands in channels-last results.
    if (conv && implementation.name.find("gemm") != std::string::npos) continue;
    Tactic tactic;
    tactic.kernel = conv ? "int8_conv" : "int8_product";
    ConfigText config;
    name_implementation(config, implementation);
    tactic.config = config.bytes();
    tactic.inputs = inputs;
    tactic.outputs = {stored(canonical(layout, c->output))};
    tactic.accumulates = DType::i32;
    const double bytes =
        static_cast<double>(c->input.elements() + c->filter.elements() + c->output.elements());
    tactic.estimate = slower * seconds_of({.operations = c->operations() / (2 * speedup_of(DType::bf16)),
                                           .bytes = bytes,
                                           .threads = target.threads},
                                          target);
    list.tactics.push_back(std::move(tactic));
    slower += 0.1;
  }
  return list;
}

/// The weights in the layout of the primitive, with what it adds behind them.
Tensor packed_weights(const Contraction& c, const Int8Candidate& candidate, const Desc& wanted,
                      const Preparation& p) {
  const Tensor& given = *prepared_constant(c.weights, p);
  Desc plain = candidate.plain_weights;
  if (!c.conv) plain = plain.permute_axes({1, 0}); // depth x columns
  Tensor packed = Tensor::allocate(DType::u8, {static_cast<std::int64_t>(wanted.get_size())});
  try {
    dnnl::memory from(plain, engine(), const_cast<void*>(given.data())), to(wanted, engine(), packed.data());
    dnnl::stream stream(engine());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    fail(ErrorCode::unsupported, "onednn: weights cannot be packed: {}", error.message);
  }
  return packed;
}

template<bool conv>
std::unique_ptr<Kernel> int8_prepare_of(const Preparation& p) {
  std::string reason;
  const auto c = read(p.group, conv, reason);
  check_taken(c.has_value(), p, reason);
  check(has_vnni(), ErrorCode::unsupported, "onednn: {} needs VNNI: build the plan again", p.tactic.kernel);
  const ThreadCount count(p.target.threads);
  const auto candidate = make(*c, &p);
  check_taken(candidate.has_value(), p, "a step has no post-operation");
  const Implementation chosen =
      find_implementation([&] { return make(*c, &p)->descriptor; }, ConfigText(p.tactic.config));
  const Desc weights = chosen.descriptor.weights_desc();
  std::vector<Argument> arguments;
  arguments.push_back(argument(DNNL_ARG_SRC, candidate->src, c->x.operand));
  arguments.push_back(
      {DNNL_ARG_WEIGHTS, weights, Argument::From::owned, 0, packed_weights(*c, *candidate, weights, p)});
  if (candidate->bias) {
    Tensor bias = Tensor::allocate(DType::f32, {c->columns()});
    std::ranges::copy(candidate->finish.bias, bias.as<float>().begin());
    arguments.push_back({DNNL_ARG_BIAS, *candidate->bias, Argument::From::owned, 0, bias});
  }
  if (const auto& added = candidate->finish.added)
    arguments.push_back(argument(
        DNNL_ARG_ATTR_MULTIPLE_POST_OP(added->first) | DNNL_ARG_SRC_1,
        *describe(conv ? c->output : Shape{c->rows(), c->columns()}, layout_for(*c), added->second.dtype()),
        added->second));
  arguments.push_back(output_argument(DNNL_ARG_DST, candidate->dst));
  return std::make_unique<Execution>(chosen.descriptor, std::move(arguments), p.target.threads);
}

} // namespace

extern const KernelFamily int8_conv_family{"int8_conv", KernelTrust::none(), int8_tactics_of<true>,
                                           int8_prepare_of<true>};
extern const KernelFamily int8_product_family{"int8_product", KernelTrust::none(), int8_tactics_of<false>,
                                              int8_prepare_of<false>};

} // namespace lanner::onednn
