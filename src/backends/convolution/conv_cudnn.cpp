// Convolutions with a fused epilogue, by cuDNN.

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/config_text.h"
#include "backends/convolution/conv_engines.h"
#include "backends/convolution/convolution_window.h"
#include "backends/convolution/pointwise.h"
#include "backends/cuda/bounds.h"
#include "backends/cuda/graph_run.h"
#include "backends/cuda/storage.h"
#include "backends/epilogue.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "base/check.h"
#include "graph/storage/within.h"

namespace lanner::cuda {
namespace {

constexpr std::size_t channel_axis = 1;
constexpr std::size_t max_steps = 4;

/// The anchor's operands, shapes and epilogue.
struct Conv {
  Operand src, weights, bias;
  Shape input, filter, output;
  ops::Window window;
  Epilogue epilogue;

  DType type() const { return src.dtype(); }
  double operations() const {
    return 2.0 * static_cast<double>(output.elements()) * static_cast<double>(filter.elements()) /
           static_cast<double>(filter[0]);
  }
  double elements() const {
    return static_cast<double>(input.elements() + filter.elements() + output.elements());
  }
};

/// Layout and type of all the convolution's values.
struct Variant {
  bool channels_last = false;
  DType type = DType::f32;
};

cudnn::DataType data_type(DType type) {
  if (type == DType::f16) return cudnn::DataType::float16;
  return type == DType::bf16 ? cudnn::DataType::bfloat16 : cudnn::DataType::float32;
}

/// N, C and at least two spatial dims: a 1-D convolution becomes an image of height 1.
std::vector<std::int64_t> image_dims(const Shape& shape) {
  std::vector<std::int64_t> dims = shape.dims();
  if (dims.size() == 3) dims.insert(dims.begin() + 2, 1);
  return dims;
}

std::vector<std::int64_t> image_list(std::vector<std::int64_t> list, std::int64_t fill) {
  if (list.size() == 1) list.insert(list.begin(), fill);
  return list;
}

TensorForm form_of(const std::vector<std::int64_t>& dims, const Variant& variant) {
  TensorForm form{dims, {}, data_type(variant.type)};
  const Shape shape{std::vector<std::int64_t>(dims)};
  const Layout layout = variant.channels_last ? Layout::channels_last(dims.size()) : Layout{};
  form.strides = layout.strides(shape);
  return form;
}

/// Sets the strides of a tensor that is stored within a larger one.
void set_strides_within(TensorForm& form, const Storage* storage, const Shape& shape) {
  if (!storage || !storage->within) return;
  form.strides = memory_strides(*storage, shape);
  // 1-D: an image of height 1.
  if (shape.rank() == 3) form.strides.insert(form.strides.begin() + 2, form.strides[2] * shape[2]);
}

/// Padding at the end: the padding at the start where that gives the same result, since many more engines
/// support symmetric padding; else what the result's size needs.
std::vector<std::int64_t> end_paddings(const ops::Window& w) {
  std::vector<std::int64_t> at_end = end_padding(w);
  for (std::size_t i = 0; i < w.begin.size(); ++i) {
    const std::int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t even = (w.image[i] + 2 * w.begin[i] - extent) / w.strides[i] + 1;
    if (even == w.positions[i]) at_end[i] = w.begin[i];
  }
  return at_end;
}

/// Group inputs in the order of the problem's operands.
struct StepOperands {
  std::vector<Operand> operands;
  std::vector<Spread> spreads;
};

void add_operand_step(ConvProblem& problem, StepOperands& from, const Operand& operand, Spread spread,
                      cudnn::PointwiseMode mode, const Variant& variant) {
  std::vector<std::int64_t> dims = problem.y.dims;
  if (spread != Spread::full) {
    std::fill(dims.begin(), dims.end(), 1);
    if (spread == Spread::channel) dims[1] = problem.y.dims[1];
  }
  problem.steps.push_back({mode, problem.operands.size(), spread == Spread::channel, {}, 0});
  problem.operands.push_back(form_of(dims, variant));
  from.operands.push_back(operand);
  from.spreads.push_back(spread);
}

/// Nothing when a step has no pointwise operation.
std::optional<ConvProblem> problem_of(const Conv& conv, const Variant& variant, StepOperands& from) {
  ConvProblem problem;
  problem.x = form_of(image_dims(conv.input), variant);
  problem.w = form_of(image_dims(conv.filter), variant);
  problem.y = form_of(image_dims(conv.output), variant);
  problem.pre = image_list(conv.window.begin, 0);
  problem.post = image_list(end_paddings(conv.window), 0);
  problem.strides = image_list(conv.window.strides, 1);
  problem.dilations = image_list(conv.window.dilations, 1);
  if (conv.bias)
    add_operand_step(problem, from, conv.bias, Spread::channel, cudnn::PointwiseMode::add, variant);
  for (const EpilogueStep& step : conv.epilogue) {
    if (step.binary) {
      if (!step.operand.is_input() || step.operand.dtype() != conv.type()) return std::nullopt;
      const auto mode = mode_of(*step.binary);
      if (!mode) return std::nullopt;
      add_operand_step(problem, from, step.operand, step.spread, *mode, variant);
      continue;
    }
    const auto activation = activation_step(step.activation);
    if (!activation) return std::nullopt;
    problem.steps.push_back(*activation);
  }
  return problem.steps.size() <= max_steps ? std::optional(std::move(problem)) : std::nullopt;
}

/// A 1-D depthwise convolution with asymmetric padding. cuDNN 9.19 has an engine for 1-D with
/// length-preserving padding, which it uses for these too, with wrong results.
bool is_uneven_line(const Conv& conv) {
  const auto& kernel = conv.window.kernel;
  const bool line = std::ranges::count_if(kernel, [](std::int64_t size) { return size > 1; }) == 1;
  return line && conv.filter[1] == 1 && end_paddings(conv.window) != conv.window.begin;
}

std::optional<Conv> read_conv(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "conv") return std::nullopt;
  Conv conv{op.input(0), op.input(1), op.input(2), {}, {}, {}, {}, {}};
  conv.input = conv.src.shape();
  conv.filter = conv.weights.shape();
  conv.output = op.type().shape();
  const std::size_t rank = conv.input.rank();
  const bool alike = conv.weights.dtype() == conv.type() && (!conv.bias || conv.bias.dtype() == conv.type());
  if (!is_real(conv.type()) || !alike || rank < 3 || rank > 5 || conv.output.elements() == 0 ||
      conv.filter.elements() == 0 || conv.input.elements() == 0) {
    reason = "cudnn: supports non-empty f32, f16 and bf16 of rank 3 to 5";
    return std::nullopt;
  }
  if (!conv.src.is_input() || !conv.weights.is_input() || (conv.bias && !conv.bias.is_input())) {
    reason = "cudnn: the operands must be inputs of the group";
    return std::nullopt;
  }
  conv.window = window_of(op.attributes(), conv.input, conv.output, std::span(conv.filter.dims()).subspan(2));
  if (!within_library_bounds(conv.input) || !within_library_bounds(conv.filter) ||
      !within_library_bounds(conv.output) || !within_library_bounds(conv.window)) {
    reason = "cudnn: sizes or the window exceed 32 bits";
    return std::nullopt;
  }
  if (is_uneven_line(conv)) {
    reason = "cudnn: asymmetric padding of a 1-D depthwise convolution is not supported";
    return std::nullopt;
  }
  auto epilogue = epilogue_of(group, channel_axis, reason);
  if (!epilogue) return std::nullopt;
  conv.epilogue = std::move(*epilogue);
  return conv;
}

bool is_pixel(const Shape& image) {
  return std::all_of(image.begin() + 2, image.end(), [](std::int64_t size) { return size == 1; });
}

/// Whether a step reads a value known only at run time.
bool has_operand(const Conv& conv) {
  return std::ranges::any_of(conv.epilogue, [](const EpilogueStep& step) {
    return step.binary && step.operand.is_input() && !step.operand.constant;
  });
}

/// Tensor cores read channels last; true f32 is as fast in either layout. For 1x1 images both layouts are the
/// same memory, but when described as row-major, some engines of cuDNN 9.19 write a batch of them wrongly in
/// FP16. Engine 39, which adds an operand to 1x1 images in FP16, is not reproducible while another stream is
/// running.
std::vector<Variant> variants(const Conv& conv, const Target& target) {
  const bool same_either_way = is_pixel(conv.input) && is_pixel(conv.output);
  const bool adds_to_pixels = same_either_way && has_operand(conv);
  std::vector<Variant> list;
  for (const std::optional<DType> kept : storage_types(conv.type(), target)) {
    const DType type = kept.value_or(conv.type());
    if (adds_to_pixels && type != DType::f32) continue;
    for (const bool channels_last : {true, false})
      if (channels_last || !same_either_way) list.push_back({channels_last, type});
  }
  return list;
}

Storage stored_as(const Conv& conv, const Variant& variant, const Shape& shape, const Target& target) {
  Storage storage = target.storage();
  if (variant.channels_last && shape.rank() > 2)
    storage.layout = canonical(Layout::channels_last(shape.rank()), shape);
  if (variant.type != conv.type()) storage.dtype = variant.type;
  return storage;
}

void store(const Conv& conv, const Variant& variant, const StepOperands& from, const Target& target,
           Tactic& tactic) {
  tactic.inputs[conv.src.index] = stored_as(conv, variant, conv.input, target);
  tactic.inputs[conv.weights.index] = stored_as(conv, variant, conv.filter, target);
  tactic.outputs = {stored_as(conv, variant, conv.output, target)};
  for (std::size_t i = 0; i < from.operands.size(); ++i) {
    const Operand& operand = from.operands[i];
    Storage storage = tactic.outputs[0];
    storage.layout = from.spreads[i] == Spread::full
                         ? operand_layout(storage.layout, conv.output.rank(), operand.shape())
                         : Layout{};
    tactic.inputs[operand.index] = std::move(storage);
  }
}

constexpr std::array<const char*, 3> form_names{"fused", "sum", "split"};
constexpr std::array<const char*, 2> engine_keys{"engine", "epilogue_engine"},
    knob_keys{"knobs", "epilogue_knobs"};

std::vector<std::byte> config_of(const Variant& variant, const EngineCandidate& candidate) {
  ConfigText config;
  config.set("version", static_cast<std::int64_t>(cudnn::library_status().version));
  config.set("layout", variant.channels_last ? "last" : "row");
  config.set("form", form_names[static_cast<std::size_t>(candidate.form)]);
  for (std::size_t i = 0; i < candidate.choices.size(); ++i) {
    config.set(engine_keys[i], candidate.choices[i].engine);
    config.set(knob_keys[i], candidate.choices[i].knob_text());
  }
  return config.bytes();
}

ConvForm form_named(const std::string& name) {
  const auto found = std::find(form_names.begin(), form_names.end(), name);
  check(found != form_names.end(), ErrorCode::bad_data, "cudnn: conv has no form `{}`: build the plan again",
        name);
  return static_cast<ConvForm>(found - form_names.begin());
}

EngineCandidate candidate_of(const ConfigText& config) {
  EngineCandidate candidate{form_named(config.text("form")), {}};
  for (std::size_t i = 0; i < conv_parts(candidate.form); ++i)
    candidate.choices.push_back(
        EngineChoice::parse(config.integer(engine_keys[i]), config.text(knob_keys[i])));
  return candidate;
}

EngineRules rules_of(const Variant& variant, const Target& target) {
  return {variant.type == DType::f32, target.deterministic, target.precision.exact};
}

/// The fraction of a GPU's multiprocessors that are busy: a block computes a tile of the result.
double busy_share(const Conv& conv) {
  constexpr double multiprocessors = 128, tile_pixels = 128,
                   tile_channels = 64; // Typical of current GPUs and kernels.
  const auto tiles = [](double size, double tile) { return std::ceil(size / tile); };
  const double channels = static_cast<double>(conv.filter[0]);
  const double groups = static_cast<double>(conv.input[1]) / static_cast<double>(conv.filter[1]);
  const double pixels = static_cast<double>(conv.output.elements()) / channels;
  const double blocks = groups * tiles(pixels, tile_pixels) * tiles(channels / groups, tile_channels);
  return std::min(1.0, blocks / multiprocessors);
}

double rough_seconds(const Conv& conv, const Variant& variant, const Target& target) {
  constexpr double share = 0.8; // Fraction of what matrix products reach.
  const bool narrow = variant.type != DType::f32;
  const double width = narrow ? 2 : 4;
  const double seconds = seconds_of({.operations = conv.operations() / share / busy_share(conv),
                                     .bytes = conv.elements() * width,
                                     .halves = narrow},
                                    target);
  // Kernels for halves are written for channels last, those for f32 for channels first: otherwise x and y are
  // transposed.
  if (variant.channels_last == narrow) return seconds;
  const auto moved = [&](const Shape& shape) {
    return seconds_of({.bytes = 2 * width * static_cast<double>(shape.elements())}, target);
  };
  return seconds + moved(conv.input) + moved(conv.output);
}

/// A convolution that cuDNN may support; nothing when not, with `reason` set where there is one.
std::optional<Conv> conv_for_cudnn(const Group& group, std::string& reason) {
  auto conv = read_conv(group, reason);
  const cudnn::LibraryStatus& library = cudnn::library_status();
  if (!conv || library.api) return conv;
  reason = fmt::format("cudnn: {}; {}", library.reason, library.remedy);
  return std::nullopt;
}

/// The storages of a node's values, chosen or proposed.
struct Stored {
  std::vector<const Storage*> inputs; ///< Empty: none lies within a larger value.
  const Storage* output = nullptr;

  static Stored by(const Tactic& tactic) {
    Stored found;
    for (const Storage& storage : tactic.inputs) found.inputs.push_back(&storage);
    found.output = &tactic.outputs.at(0);
    return found;
  }
  static Stored by(const Node& node) {
    Stored found;
    for (const Value* input : node.inputs()) found.inputs.push_back(input ? &input->storage : nullptr);
    found.output = &node.output()->storage;
    return found;
  }
  const Storage* input(std::size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
};

/// Whether the candidate may read and write a range of the channels of a larger value. Engine 8 of cuDNN 9.19
/// computes wrong ones where their number is not a multiple of its vector width (20 of 32, 24 of 40).
bool keeps_to_channels(const EngineCandidate& candidate) {
  return std::ranges::none_of(candidate.choices,
                              [](const EngineChoice& choice) { return choice.engine == 8; });
}

/// A convolution with chosen storages, as a problem for cuDNN.
struct StoredConv {
  const Conv& conv;
  Variant variant;
  StepOperands from;
  std::optional<ConvProblem> problem;

  StoredConv(const Conv& conv, const Variant& variant, const Stored& values = {})
      : conv(conv), variant(variant), problem(problem_of(conv, variant, from)) {
    if (!problem) return;
    set_strides_within(problem->x, values.input(conv.src.index), conv.input);
    set_strides_within(problem->y, values.output, conv.output);
    for (std::size_t i = 0; i < from.operands.size(); ++i)
      if (from.spreads[i] == Spread::full)
        set_strides_within(problem->operands[i], values.input(from.operands[i].index), conv.output);
  }

  Tactic tactic(const Node& node, const EngineCandidate& candidate, const Target& target) const {
    Tactic tactic;
    tactic.kernel = "conv";
    tactic.config = config_of(variant, candidate);
    tactic.inputs.assign(node.inputs().size(), target.storage());
    store(conv, variant, from, target, tactic);
    // Channels only: many engines write rows and pixels as if the image had no others.
    const AxisSet channels = keeps_to_channels(candidate) ? AxisSet::only(1) : AxisSet();
    tactic.strided_outputs = {channels};
    tactic.strided_inputs.assign(node.inputs().size(), {});
    tactic.strided_inputs[conv.src.index] = channels;
    for (std::size_t i = 0; i < from.operands.size(); ++i)
      if (from.spreads[i] == Spread::full && from.operands[i].shape() == conv.output)
        tactic.strided_inputs[from.operands[i].index] = channels;
    tactic.estimate = rough_seconds(conv, variant, target) * candidate.slowness;
    tactic.accumulates = DType::f32;
    return tactic;
  }
};

/// Fastest first, by the estimate.
std::vector<Variant> by_speed(const Conv& conv, const Target& target) {
  std::vector<Variant> list = variants(conv, target);
  std::ranges::stable_sort(list, {}, [&](const Variant& one) { return rough_seconds(conv, one, target); });
  return list;
}

/// `first`: one candidate only, since checking that one works takes the library long, and the estimates rank
/// the others at_end it. Otherwise its further engines and the first one of each other variant.
TacticList offered(const Node& node, const Group& group, const Target& target, bool first) {
  TacticList list;
  const auto conv = conv_for_cudnn(group, list.reason);
  if (!conv) return list;
  const auto lease = cudnn::HandlePool::of(Gpu::get(target.device)).take(nullptr);
  bool found_fast = false;
  for (const Variant& variant : by_speed(*conv, target)) {
    const StoredConv stored(*conv, variant);
    if (!stored.problem) {
      list.reason = "cudnn: a step of the epilogue has no pointwise operation";
      return list;
    }
    const ConvEngines engines(*stored.problem, rules_of(variant, target), target.device, lease.handle());
    const auto candidate = engines.first_candidate(list.reason);
    const bool in_first = !found_fast;
    if (candidate && first == in_first) list.tactics.push_back(stored.tactic(node, *candidate, target));
    found_fast |= candidate && !candidate->last_resort;
    if (first && found_fast) break;
    if (first || !in_first) continue;
    for (const EngineCandidate& further : engines.further_candidates(list.reason))
      list.tactics.push_back(stored.tactic(node, further, target));
  }
  if (list.tactics.empty() && list.reason.empty())
    list.reason = "cudnn: no f16 or bf16 kernel adds an operand to 1x1 images";
  return list;
}

TacticList conv_tactics(const Node& node, const Group& group, const Target& target) {
  return offered(node, group, target, true);
}

TacticList conv_more(const Node& node, const Group& group, const Target& target) {
  return offered(node, group, target, false);
}

TacticList conv_named(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto conv = conv_for_cudnn(group, list.reason);
  if (!conv) return list;
  const ConfigText config(node.tactic.config);
  if (config.integer("version") != static_cast<std::int64_t>(cudnn::library_status().version)) return list;
  const EngineCandidate candidate = candidate_of(config);
  const bool last = config.text("layout") == "last";
  const DType type = node.output()->storage.dtype.value_or(conv->type());
  const auto lease = cudnn::HandlePool::of(Gpu::get(target.device)).take(nullptr);
  for (const Variant& variant : variants(*conv, target)) {
    if (variant.channels_last != last || variant.type != type) continue;
    const StoredConv stored(*conv, variant, Stored::by(node));
    if (!stored.problem || std::ranges::count(conv_forms(*stored.problem), candidate.form) == 0) continue;
    const ConvEngines engines(*stored.problem, rules_of(variant, target), target.device, lease.handle());
    if (engines.works(candidate, list.reason)) list.tactics.push_back(stored.tactic(node, candidate, target));
  }
  return list;
}

std::vector<GraphBinding> bindings_of(const OperationGraph& graph, const Conv& conv,
                                      const StepOperands& from) {
  std::vector<GraphBinding> bindings;
  for (const GraphTensor& tensor : graph.tensors) {
    GraphBinding binding{tensor.uid, tensor.role == TensorRole::y, 0};
    if (tensor.role == TensorRole::x) binding.index = conv.src.index;
    if (tensor.role == TensorRole::w) binding.index = conv.weights.index;
    if (tensor.role == TensorRole::operand) binding.index = from.operands[tensor.operand].index;
    bindings.push_back(binding);
  }
  return bindings;
}

std::unique_ptr<Kernel> conv_prepare(const Preparation& p) {
  std::string reason;
  const auto conv = read_conv(p.group, reason);
  lanner::check(conv.has_value(), ErrorCode::internal, "cuda: conv: {}", reason);
  const auto version = static_cast<std::int64_t>(cudnn::library_status().version);
  static_cast<void>(cudnn::api());
  const ConfigText config(p.tactic.config);
  lanner::check(config.integer("version") == version, ErrorCode::bad_data,
                "cudnn: the plan is for version {}, this is {}: build the plan again",
                config.integer("version"), version);
  const Variant variant{config.text("layout") == "last", p.tactic.outputs.at(0).dtype.value_or(conv->type())};
  const StoredConv stored(*conv, variant, Stored::by(p.tactic));
  lanner::check(stored.problem.has_value() && is_real(variant.type), ErrorCode::bad_data,
                "cudnn: conv cannot run this tactic: build the plan again");
  const Gpu& gpu = Gpu::get(p.target.device);
  cudnn::HandlePool& pool = cudnn::HandlePool::of(gpu);
  const auto lease = pool.take(nullptr);
  const ConvEngines engines(*stored.problem, rules_of(variant, p.target), p.target.device, lease.handle());
  const EngineCandidate candidate = candidate_of(config);
  std::vector<std::unique_ptr<GraphRun>> runs;
  for (std::size_t i = 0; i < candidate.choices.size(); ++i) {
    auto ready = engines.ready(candidate.form, i, candidate.choices[i]);
    auto bindings = bindings_of(*ready->graph, *conv, stored.from);
    runs.push_back(std::make_unique<GraphRun>(std::move(ready), std::move(bindings)));
  }
  return std::make_unique<GraphKernel>(gpu, pool, std::move(runs));
}

/// Whether all steps are exact to the last bits of f32: engines' exponentials are not (tanh of 9.19 is 1e-5
/// off).
bool is_exact(const ConvProblem& problem) {
  return std::ranges::all_of(problem.steps, [](const PointwiseStep& step) {
    return step.operand || step.mode == cudnn::PointwiseMode::relu;
  });
}

/// What cuDNN fuses into one kernel: sums and relu in f32, more for tensor cores.
bool conv_fuses(const Group& group, const Target& target) {
  std::string reason;
  const auto conv = read_conv(group, reason);
  if (!conv || !cudnn::library_status().api) return false;
  StepOperands from;
  const auto problem = problem_of(*conv, {true, conv->type()}, from);
  if (!problem) return false;
  if (!is_true_f32(conv->type(), target)) return true;
  return is_exact(*problem) && (problem->steps.size() <= 1 || conv_forms(*problem).size() > 2);
}

} // namespace

extern const KernelFamily conv_family{
    "conv", KernelTrust::swept({"cudnn 919"}), conv_tactics, conv_prepare, conv_fuses, conv_more, conv_named};

} // namespace lanner::cuda
