#include "backends/convolution/conv_graph.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <numeric>

#include "backends/cuda/launch_cache.h"
#include "base/check.h"

namespace lanner::cuda {
namespace {

using cudnn::Attribute;
using cudnn::AttributeType;
using cudnn::Descriptor;
using cudnn::DescriptorHandle;
using cudnn::DescriptorType;
using cudnn::PointwiseMode;

constexpr std::size_t max_engines = 12; // of one mode; those that cuDNN names last are never the fastest
constexpr std::int64_t uid_x = 1, uid_w = 2, uid_y = 3, uid_again = 4, uid_operand = 16, uid_inner = 64;

bool is_activation(PointwiseMode mode) {
  return static_cast<int>(mode) >= static_cast<int>(PointwiseMode::relu);
}

/// The same tensor, dense.
TensorForm packed(TensorForm form) {
  std::vector<std::size_t> axes(form.dims.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::ranges::stable_sort(axes, std::greater(), [&](std::size_t axis) { return form.strides[axis]; });
  std::int64_t elements = 1;
  for (const std::int64_t size : form.dims) elements *= size;
  if (form.strides[axes.front()] * form.dims[axes.front()] == elements) return form;
  std::int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    form.strides[*axis] = stride;
    stride *= form.dims[*axis];
  }
  return form;
}

/// Adds operations to one graph.
class GraphMaker {
public:
  explicit GraphMaker(const ConvProblem& problem) : problem_(problem) {}

  DescriptorHandle bound(std::int64_t uid, const TensorForm& form, TensorRole role, std::size_t operand = 0) {
    made_.tensors.push_back({uid, role, operand});
    return tensor(uid, form, false);
  }
  /// Virtual: exists only between two operations of the graph, in the compute type, and dense.
  DescriptorHandle inner() {
    TensorForm form = packed(problem_.y);
    form.type = cudnn::DataType::float32;
    return tensor(uid_inner + inner_++, form, true);
  }
  DescriptorHandle operand(const PointwiseStep& step) {
    const std::size_t index = *step.operand;
    return bound(uid_operand + static_cast<std::int64_t>(index), problem_.operands[index],
                 TensorRole::operand, index);
  }

  void convolution(DescriptorHandle y) {
    const DescriptorHandle x = bound(uid_x, problem_.x, TensorRole::x),
                           w = bound(uid_w, problem_.w, TensorRole::w);
    Descriptor window(DescriptorType::convolution);
    window.set(Attribute::convolution_compute_type, AttributeType::data_type, cudnn::DataType::float32);
    window.set(Attribute::convolution_mode, AttributeType::convolution_mode,
               cudnn::ConvolutionMode::cross_correlation);
    window.set(Attribute::convolution_spatial_dims, AttributeType::int64,
               static_cast<std::int64_t>(problem_.strides.size()));
    set_list(window, Attribute::convolution_dilations, problem_.dilations);
    set_list(window, Attribute::convolution_strides, problem_.strides);
    set_list(window, Attribute::convolution_pre_paddings, problem_.pre);
    set_list(window, Attribute::convolution_post_paddings, problem_.post);
    window.finalize();
    Descriptor op(DescriptorType::operation_convolution_forward);
    op.set(Attribute::convolution_forward_alpha, AttributeType::float32, 1.0F);
    op.set(Attribute::convolution_forward_beta, AttributeType::float32, 0.0F);
    op.set(Attribute::convolution_forward_descriptor, window);
    op.set(Attribute::convolution_forward_x, AttributeType::descriptor, x);
    op.set(Attribute::convolution_forward_w, AttributeType::descriptor, w);
    op.set(Attribute::convolution_forward_y, AttributeType::descriptor, y);
    made_.parts.push_back(std::move(window));
    add(std::move(op));
  }

  /// `scale` multiplies the second input.
  void pointwise(const PointwiseStep& step, DescriptorHandle x, DescriptorHandle b, DescriptorHandle y,
                 std::optional<float> scale = std::nullopt) {
    Descriptor mode = mode_of(step);
    Descriptor op(DescriptorType::operation_pointwise);
    op.set(Attribute::operation_pointwise_descriptor, mode);
    op.set(Attribute::operation_pointwise_x, AttributeType::descriptor, x);
    if (b) op.set(Attribute::operation_pointwise_b, AttributeType::descriptor, b);
    op.set(Attribute::operation_pointwise_y, AttributeType::descriptor, y);
    if (scale) {
      op.set(Attribute::operation_pointwise_alpha1, AttributeType::float32, 1.0F);
      op.set(Attribute::operation_pointwise_alpha2, AttributeType::float32, *scale);
    }
    made_.parts.push_back(std::move(mode));
    add(std::move(op));
  }

  OperationGraph finish(cudnn::Handle handle) {
    std::vector<DescriptorHandle> operations;
    for (const Descriptor& op : operations_) operations.push_back(op.handle());
    made_.graph = Descriptor(DescriptorType::operation_graph);
    made_.graph.set(Attribute::graph_operations, AttributeType::descriptor,
                    std::span<const DescriptorHandle>(operations));
    made_.graph.set(Attribute::graph_handle, AttributeType::handle, handle);
    made_.graph.finalize();
    for (Descriptor& op : operations_) made_.parts.push_back(std::move(op));
    return std::move(made_);
  }

private:
  static void set_list(Descriptor& descriptor, Attribute attribute, const std::vector<std::int64_t>& list) {
    descriptor.set(attribute, AttributeType::int64, std::span<const std::int64_t>(list));
  }

  DescriptorHandle tensor(std::int64_t uid, const TensorForm& form, bool is_virtual) {
    Descriptor tensor(DescriptorType::tensor);
    tensor.set(Attribute::tensor_data_type, AttributeType::data_type, form.type);
    set_list(tensor, Attribute::tensor_dimensions, form.dims);
    set_list(tensor, Attribute::tensor_strides, form.strides);
    tensor.set(Attribute::tensor_unique_id, AttributeType::int64, uid);
    tensor.set(Attribute::tensor_byte_alignment, AttributeType::int64,
               static_cast<std::int64_t>(pointer_alignment));
    if (is_virtual) tensor.set(Attribute::tensor_is_virtual, AttributeType::boolean, true);
    tensor.finalize();
    made_.parts.push_back(std::move(tensor));
    return made_.parts.back().handle();
  }

  static Descriptor mode_of(const PointwiseStep& step) {
    Descriptor mode(DescriptorType::pointwise);
    mode.set(Attribute::pointwise_mode, AttributeType::pointwise_mode, step.mode);
    mode.set(Attribute::pointwise_math_precision, AttributeType::data_type, cudnn::DataType::float32);
    // Otherwise max(NaN, 0) is 0, and a network with NaN results would look healthy.
    if (step.mode == PointwiseMode::relu)
      mode.set(Attribute::pointwise_nan_propagation, AttributeType::nan_propagation,
               cudnn::NanPropagation::keeps);
    const auto number = [&](Attribute attribute, double value) {
      mode.set(attribute, AttributeType::float64, value);
    };
    if (step.mode == PointwiseMode::relu && step.upper) {
      number(Attribute::pointwise_relu_lower_clip, 0);
      number(Attribute::pointwise_relu_upper_clip, *step.upper);
    }
    if (step.mode == PointwiseMode::relu && step.slope != 0)
      number(Attribute::pointwise_relu_lower_clip_slope, step.slope);
    if (step.mode == PointwiseMode::elu) number(Attribute::pointwise_elu_alpha, step.slope);
    if (step.mode == PointwiseMode::swish) number(Attribute::pointwise_swish_beta, step.slope);
    if (step.mode == PointwiseMode::softplus) number(Attribute::pointwise_softplus_beta, step.slope);
    mode.finalize();
    return mode;
  }

  void add(Descriptor op) {
    op.finalize();
    operations_.push_back(std::move(op));
  }

  const ConvProblem& problem_;
  OperationGraph made_;
  std::vector<Descriptor> operations_;
  std::int64_t inner_ = 0;
};

/// All steps applied to x; the last one writes y.
void add_steps(GraphMaker& maker, const ConvProblem& problem, DescriptorHandle x, DescriptorHandle y) {
  for (std::size_t i = 0; i < problem.steps.size(); ++i) {
    const PointwiseStep& step = problem.steps[i];
    const DescriptorHandle result = i + 1 == problem.steps.size() ? y : maker.inner();
    maker.pointwise(step, x, step.operand ? maker.operand(step) : nullptr, result);
    x = result;
  }
}

/// The steps of a problem in the order of ConvForm::sum.
struct SumSteps {
  const PointwiseStep *bias = nullptr, *full = nullptr, *activation = nullptr;
};

std::optional<SumSteps> sum_steps(const ConvProblem& problem) {
  SumSteps sum;
  for (const PointwiseStep& step : problem.steps) {
    const PointwiseStep** place = is_activation(step.mode) ? &sum.activation
                                  : step.per_channel       ? &sum.bias
                                                           : &sum.full;
    const bool fits = is_activation(step.mode)
                          ? step.mode == PointwiseMode::relu && !step.upper && step.slope == 0
                          : step.mode == PointwiseMode::add && !sum.activation;
    if (!fits || *place) return std::nullopt;
    *place = &step;
  }
  return sum.bias ? std::optional(sum) : std::nullopt;
}

OperationGraph sum_graph(const ConvProblem& problem, cudnn::Handle handle) {
  const auto sum = sum_steps(problem);
  lanner::check(sum.has_value(), ErrorCode::bad_data,
                "cudnn: the steps of this convolution are not bias, sum and relu: build the plan again");
  GraphMaker maker(problem);
  const DescriptorHandle y = maker.bound(uid_y, problem.y, TensorRole::y), first = maker.inner(),
                         second = maker.inner(), third = sum->activation ? maker.inner() : y;
  maker.convolution(first);
  const PointwiseStep add{PointwiseMode::add, {}, false, {}, 0};
  const DescriptorHandle z =
      sum->full ? maker.operand(*sum->full) : maker.bound(uid_again, problem.y, TensorRole::y);
  maker.pointwise(add, first, z, second, sum->full ? 1.0F : 0.0F);
  maker.pointwise(add, second, maker.operand(*sum->bias), third);
  if (sum->activation) maker.pointwise(*sum->activation, third, nullptr, y);
  return maker.finish(handle);
}

OperationGraph anchor_graph(const ConvProblem& problem, bool with_steps, cudnn::Handle handle) {
  GraphMaker maker(problem);
  const DescriptorHandle y = maker.bound(uid_y, problem.y, TensorRole::y);
  const bool steps = with_steps && !problem.steps.empty();
  const DescriptorHandle result = steps ? maker.inner() : y;
  maker.convolution(result);
  if (steps) add_steps(maker, problem, result, y);
  return maker.finish(handle);
}

/// Only the steps, on y in its own memory.
OperationGraph steps_graph(const ConvProblem& problem, cudnn::Handle handle) {
  GraphMaker maker(problem);
  const DescriptorHandle y = maker.bound(uid_y, problem.y, TensorRole::y),
                         before = maker.bound(uid_again, problem.y, TensorRole::y);
  add_steps(maker, problem, before, y);
  return maker.finish(handle);
}

std::vector<cudnn::NumericalNote> notes_of(const Descriptor& engine) {
  std::vector<cudnn::NumericalNote> notes(cudnn::max_notes);
  notes.resize(engine.get(Attribute::engine_numerical_note, AttributeType::numerical_note,
                          std::span<cudnn::NumericalNote>(notes)));
  return notes;
}

bool allowed(const std::vector<cudnn::NumericalNote>& notes, const EngineRules& rules) {
  using N = cudnn::NumericalNote;
  for (const N note : notes) {
    const bool rounds = note == N::tensor_core || note == N::down_convert_inputs ||
                        note == N::reduced_precision_reduction || note == N::winograd_tile_6x6 ||
                        note == N::winograd_tile_13x13;
    if ((rules.exact && rounds) || note == N::reduced_precision_reduction) return false;
    const bool transforms = note == N::fft || note == N::winograd || note == N::winograd_tile_4x4 ||
                            note == N::winograd_tile_6x6 || note == N::winograd_tile_13x13;
    if (rules.direct && transforms) return false;
    if (rules.deterministic && note == N::nondeterministic) return false;
  }
  return true;
}

/// `count` descriptors for cuDNN to fill.
std::vector<Descriptor> filled(const Descriptor& from, Attribute attribute, DescriptorType type,
                               std::int64_t count) {
  std::vector<Descriptor> list;
  std::vector<DescriptorHandle> handles;
  for (std::int64_t i = 0; i < count; ++i) handles.push_back(list.emplace_back(type).handle());
  if (count > 0)
    list.resize(from.get(attribute, AttributeType::descriptor, std::span<DescriptorHandle>(handles)));
  return list;
}

/// Reads an engine configuration of the heuristics; nothing when the rules exclude its engine.
std::optional<EngineChoice> choice_of(const Descriptor& config, const EngineRules& rules) {
  const std::vector<Descriptor> engine =
      filled(config, Attribute::engine_config_engine, DescriptorType::engine, 1);
  if (engine.empty() || !allowed(notes_of(engine.front()), rules)) return std::nullopt;
  EngineChoice choice;
  choice.engine = engine.front().get<std::int64_t>(Attribute::engine_global_index, AttributeType::int64);
  // Queried for the count alone, cuDNN reports 0.
  for (const Descriptor& knob :
       filled(config, Attribute::engine_config_knob_choices, DescriptorType::knob_choice, cudnn::max_knobs))
    choice.knobs.emplace_back(knob.get<int>(Attribute::knob_choice_type, AttributeType::knob_type),
                              knob.get<std::int64_t>(Attribute::knob_choice_value, AttributeType::int64));
  return choice;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  lanner::check(error == std::errc() && end == text.data() + text.size(), ErrorCode::bad_data,
                "cudnn: `{}` in an engine's knobs is not a number: build the plan again", text);
  return value;
}

} // namespace

std::vector<ConvForm> conv_forms(const ConvProblem& problem) {
  if (problem.steps.empty()) return {ConvForm::fused};
  std::vector<ConvForm> forms{ConvForm::fused};
  if (sum_steps(problem)) forms.push_back(ConvForm::sum);
  forms.push_back(ConvForm::split);
  return forms;
}

std::size_t conv_parts(ConvForm form) {
  return form == ConvForm::split ? 2 : 1;
}

OperationGraph conv_graph(const ConvProblem& problem, ConvForm form, std::size_t part, cudnn::Handle handle) {
  if (form == ConvForm::sum) return sum_graph(problem, handle);
  if (part > 0) return steps_graph(problem, handle);
  return anchor_graph(problem, form == ConvForm::fused, handle);
}

std::string ConvProblem::text() const {
  std::string text;
  const auto add = [&](const TensorForm& form) {
    text += fmt::format("{}[{}]{{{}}};", static_cast<int>(form.type), fmt::join(form.dims, ","),
                        fmt::join(form.strides, ","));
  };
  add(x);
  add(w);
  add(y);
  for (const auto* list : {&pre, &post, &strides, &dilations})
    text += fmt::format("({})", fmt::join(*list, ","));
  for (const PointwiseStep& step : steps) {
    text += fmt::format("{}:{}", static_cast<int>(step.mode), step.slope);
    if (step.upper) text += fmt::format("<{}", *step.upper);
    if (step.operand) text += fmt::format("@{}{}", *step.operand, step.per_channel ? "c" : "");
    text += ";";
  }
  for (const TensorForm& operand : operands) add(operand);
  return text;
}

std::string EngineChoice::knob_text() const {
  std::string text;
  for (const auto& [type, value] : knobs)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", type, value);
  return text;
}

EngineChoice EngineChoice::parse(std::int64_t engine, std::string_view knobs) {
  EngineChoice choice;
  choice.engine = engine;
  while (!knobs.empty()) {
    const std::string_view field = knobs.substr(0, knobs.find(','));
    const std::size_t colon = std::min(field.find(':'), field.size());
    choice.knobs.emplace_back(number(field.substr(0, colon)),
                              number(field.substr(std::min(colon + 1, field.size()))));
    knobs.remove_prefix(std::min(knobs.size(), field.size() + 1));
  }
  return choice;
}

void add_engines(std::vector<EngineChoice>& choices, const OperationGraph& graph, cudnn::HeuristicsMode mode,
                 const EngineRules& rules) {
  Descriptor heuristics(DescriptorType::engine_heuristics);
  heuristics.set(Attribute::heuristics_operation_graph, graph.graph);
  heuristics.set(Attribute::heuristics_mode, AttributeType::heuristics_mode, mode);
  heuristics.finalize();
  const std::int64_t count = heuristics.count(Attribute::heuristics_results, AttributeType::descriptor);
  std::size_t added = 0;
  for (const Descriptor& config :
       filled(heuristics, Attribute::heuristics_results, DescriptorType::engine_config, count)) {
    if (added >= max_engines) return;
    auto choice = choice_of(config, rules);
    if (!choice || std::ranges::find(choices, *choice) != choices.end()) continue;
    choices.push_back(std::move(*choice));
    ++added;
  }
}

bool GraphPlan::keeps(const EngineRules& rules) const {
  return allowed(notes_, rules);
}

GraphPlan::GraphPlan(const OperationGraph& graph, const EngineChoice& choice, cudnn::Handle handle) {
  Descriptor engine(DescriptorType::engine);
  engine.set(Attribute::engine_operation_graph, graph.graph);
  engine.set(Attribute::engine_global_index, AttributeType::int64, choice.engine);
  engine.finalize();
  notes_ = notes_of(engine);
  std::vector<DescriptorHandle> knobs;
  for (const auto& [type, value] : choice.knobs) {
    lanner::check(type >= 0 && type <= std::numeric_limits<int>::max(), ErrorCode::bad_data,
                  "cudnn: knob {} does not exist: build the plan again", type);
    Descriptor& knob = parts_.emplace_back(DescriptorType::knob_choice);
    knob.set(Attribute::knob_choice_type, AttributeType::knob_type, static_cast<int>(type));
    knob.set(Attribute::knob_choice_value, AttributeType::int64, value);
    knob.finalize();
    knobs.push_back(knob.handle());
  }
  Descriptor config(DescriptorType::engine_config);
  config.set(Attribute::engine_config_engine, engine);
  if (!knobs.empty())
    config.set(Attribute::engine_config_knob_choices, AttributeType::descriptor,
               std::span<const DescriptorHandle>(knobs));
  config.finalize();
  plan_ = Descriptor(DescriptorType::execution_plan);
  plan_.set(Attribute::plan_handle, AttributeType::handle, handle);
  plan_.set(Attribute::plan_engine_config, config);
  plan_.finalize();
  parts_.push_back(std::move(engine));
  parts_.push_back(std::move(config));
  const auto bytes = plan_.get<std::int64_t>(Attribute::plan_workspace_size, AttributeType::int64);
  lanner::check(bytes >= 0, ErrorCode::device, "cuDNN asks for a workspace of {} bytes", bytes);
  workspace_ = static_cast<std::size_t>(bytes);
}

} // namespace lanner::cuda
