#include "engine/state.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "backends/backends.h"
#include "base/check.h"
#include "base/text/joined.h"
#include "engine/builder.h"
#include "engine/context/given_shapes.h"
#include "engine/context/pictures.h"
#include "engine/measure_machine.h"
#include "engine/sample_shapes.h"
#include "graph/op.h"
#include "program/lowered/precision.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

constexpr std::size_t kept_fitting_shapes = 1024;

/// Copies the weights to their device, so that no run waits for them.
MadeVariant ready(MadeVariant made) {
  static_cast<void>(made.program->weights());
  return made;
}

/// The same graph with row-major constants; null where it has no others.
std::unique_ptr<const Graph> unpacked(const Graph& graph, WeightStore& constants) {
  const auto packed = [](const Node& node) { return !node.output()->constant()->layout().row_major(); };
  bool any = false;
  for_each_constant(graph.body(), [&](const Node& node) { any = any || packed(node); });
  if (!any) return nullptr;
  std::unique_ptr<Graph> result = graph.clone();
  for_each_constant(result->body(), [&](Node& node) {
    if (packed(node)) node.attributes.set("value", constants.get(*node.output()->constant(), {}));
  });
  return result;
}

} // namespace

Binding binding(const std::string& name, const Type& type) {
  Binding made;
  made.name = name;
  if (!type.is_tensor()) {
    made.sequence = true;
    return made;
  }
  made.dtype = type.dtype();
  made.ranked = type.ranked();
  if (!type.ranked()) return made;
  for (const Dim& dim : type.dims()) {
    made.dims.push_back(dim.constant().value_or(-1));
    made.dim_names.push_back(dim.to_string());
  }
  return made;
}

std::string Binding::to_string() const {
  if (sequence) return name + ": sequence";
  if (!image.empty()) return fmt::format("{}: {} image[{}]", name, image, dim_names[0]);
  return fmt::format("{}: {}[{}]", name, lanner::to_string(dtype), ranked ? joined(dim_names, ", ") : "*");
}

void set_limits(Target& target, const EnvironmentState& environment) {
  if (target.deterministic) return;
  target.limits = machine_limits_in(environment.cache_folder, target.device);
  target.host_limits = machine_limits_in(environment.cache_folder, {});
  for (std::size_t d = 0; d < target.further.size(); ++d)
    target.further[d].limits = machine_limits_in(environment.cache_folder, target.placement.devices[d]);
}

std::vector<Binding> input_bindings(const Graph& graph) {
  std::vector<Binding> bindings;
  for (const auto& parameter : graph.body().parameters())
    bindings.push_back(binding(parameter->name(), parameter->type));
  return bindings;
}

std::vector<Binding> output_bindings(const Graph& graph) {
  std::vector<Binding> bindings;
  for (std::size_t i = 0; i < graph.body().outputs().size(); ++i)
    bindings.push_back(binding(graph.output_names()[i], graph.body().outputs()[i]->type));
  return bindings;
}

void check_tune_at_run(const EngineState& state) {
  if (!state.tune_at_run) return;
  check(
      state.budget > 0 && !state.target.deterministic, ErrorCode::invalid_argument,
      "tune_at_run: this engine times nothing, as its budget is 0 or it is deterministic; expected one that "
      "may time kernels, or no tune_at_run");
  builder_for("tune_at_run", "prepare the shapes where the plan is built");
}

/// The variant whose tactics are reused.
struct EngineState::Model {
  MadeVariantPtr variant;   ///< Null: there is none.
  bool same_shapes = false; ///< Same shapes with another number of threads.
};

MadeVariantPtr EngineState::variant(const InputShapes& shapes, int threads, const Control& control,
                                    bool tune) const {
  const AccountScope charged(account); // charged to the engine, not to the context
  const VariantKey key{shapes, threads};
  if (tune || tune_at_run) {
    double seconds = budget;
    MadeVariantPtr made = tuned(key, seconds, control);
    warn_about_first(key, *made);
    return made;
  }
  MadeVariantPtr made = variants_.get(key, false, control, [&] { return ready(make_like(key, control)); });
  warn_about_first(key, *made);
  return made;
}

/// Warnings at the first variant of a build without sizes: options without effect, and kernels that were not
/// timed.
void EngineState::warn_about_first(const VariantKey& key, const MadeVariant& made) const {
  if (opt || !profiles.empty() || told_of_first_.exchange(true)) return;
  const Graph& lowered = made.program->graph();
  for (const auto& lines : {unused_precisions(lowered, target), unkept_placements(lowered, target)})
    for (const std::string& line : lines)
      log_message(LogLevel::warning, fmt::format("{}: {}", graph->name, line));
  if (made.ahead || budget <= 0 || target.deterministic) return;
  log_message(LogLevel::warning,
              fmt::format("{}: the build was given no sizes of {}, so kernels for {} are chosen by "
                          "estimates, not timed; to time them give shapes or profiles to the build, call "
                          "prepare, or set tune_at_run",
                          graph->name, open_inputs_text(*graph, state_inputs()), shapes_text(key.shapes)));
}

MadeVariantPtr EngineState::tuned(const VariantKey& key, double& seconds, const Control& control) const {
  return variants_.get(key, true, control, [&] {
    const MadeVariantPtr same = variants_.of_shapes(key.shapes, key.threads);
    if (same && same->ahead && !same->program->on_host()) return *same;
    MadeVariant made = ready(find_builder() ? lowered(key, seconds, {}, control) : make_like(key, control));
    made.ahead = true;
    return made;
  });
}

double EngineState::make_ahead(std::span<const VariantKey> variants, const Control& control,
                               const std::function<void(const MadeVariant&)>& made,
                               std::optional<double> seconds) const {
  const AccountScope charged(account);
  double left = seconds.value_or(budget);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const double share = left / static_cast<double>(variants.size() - i);
    double unspent = share;
    const MadeVariantPtr one = tuned(variants[i], unspent, control);
    if (made) made(*one);
    warn_about_first(variants[i], *one);
    left -= share - unspent;
  }
  return left;
}

void EngineState::expect(std::vector<ShapeProfile> expected) {
  profiles = std::move(expected);
  if (!profiles.empty() && profiles.front().opt) opt = profiles.front().opt;
  for (const VariantKey& key : opt_variants()) variants_.pin(key.shapes);
}

std::vector<VariantKey> EngineState::opt_variants() const {
  std::vector<VariantKey> keys;
  const auto add = [&](const std::optional<InputShapes>& shapes) {
    if (shapes && std::ranges::find(keys, *shapes, &VariantKey::shapes) == keys.end())
      keys.push_back({*shapes, target.threads});
  };
  add(opt);
  for (const ShapeProfile& profile : profiles) add(profile.opt);
  return keys;
}

EngineState::Shown EngineState::shown() const {
  if (opt) return {*opt, variant(*opt, target.threads)};
  for (const bool ahead : {true, false})
    for (const auto& [key, made] : variants_.list())
      if (made->ahead == ahead && key.threads == target.threads) return {key.shapes, made};
  InputShapes shapes = sample(GivenShapes(inputs.size()));
  const AccountScope charged(account);
  const VariantKey key{shapes, target.threads};
  return {std::move(shapes), variants_.get(key, false, {}, [&] { return ready(make_like(key, {})); })};
}

InputShapes EngineState::sample(GivenShapes given, std::int64_t batch) const {
  const std::vector<std::size_t> begin_empty = state_inputs();
  return sample_shapes(portable(), {std::move(given), opt, batch, begin_empty});
}

std::map<std::string, Shape> EngineState::caller_shapes(const InputShapes& shapes) const {
  std::map<std::string, Shape> told;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (!inputs[i].sequence) told[inputs[i].name] = caller_shape(*graph->body().parameter(i), shapes[i]);
  return told;
}

std::vector<std::size_t> EngineState::state_inputs() const {
  std::vector<std::size_t> numbers;
  for (const StatePair& pair : states) numbers.push_back(pair.input);
  return numbers;
}

const ShapeProfile* EngineState::profile_of(const InputShapes& shapes) const {
  const auto found =
      std::ranges::find_if(profiles, [&](const ShapeProfile& profile) { return profile.holds(shapes); });
  return found == profiles.end() ? nullptr : &*found;
}

std::vector<const Backend*> EngineState::backends(const Target& of) const {
  return backends_for(of, environment.state().backends);
}

Target EngineState::target_of(int threads) const {
  Target own = target;
  own.threads = threads;
  return own;
}

MadeVariant EngineState::make_like(const VariantKey& key, const Control& control) const {
  double no_seconds = 0;
  const EngineBuilder* builder = find_builder();
  if (!builder && !variants_.of_shapes(key.shapes, key.threads)) fail_without_builder(key);
  const Model model = tactic_source(key.shapes, key.threads);
  if (!model.variant) return lowered(key, no_seconds, {.trusting = true}, control);
  if (model.same_shapes && !model.variant->program->on_host()) return *model.variant;
  const Graph& chosen = model.variant->program->graph();
  const Target own = target_of(key.threads);
  // Without a builder, or where a plan is loaded for another number of threads.
  if (model.same_shapes && (!builder || builder->trusted(chosen, backends(own))))
    if (auto program = same_kernels(chosen, own))
      return {std::move(program), model.variant->reports, key.threads};
  return lowered(key, no_seconds, {.model = model.variant.get()}, control);
}

MadeVariant EngineState::lowered(const VariantKey& key, double& seconds, const VariantMaking& making,
                                 const Control& control) const {
  const EngineBuilder* builder = find_builder();
  if (!builder) fail_without_builder(key);
  if (!making.sizes_only)
    log_message(LogLevel::debug,
                fmt::format("{}: kernels for {} are chosen", graph->name, shapes_text(key.shapes)));
  MadeVariant made = builder->variant(*this, key, making, seconds, control);
  if (!making.sizes_only)
    made.program = within_bound(key.shapes, std::move(made.program), target_of(key.threads));
  return made;
}

void EngineState::fail_without_builder(const VariantKey& key) const {
  constexpr std::size_t shown = 4;
  std::vector<std::string> known;
  for (const auto& [other, made] : variants_.list()) {
    std::string text = shapes_text(other.shapes);
    if (std::ranges::find(known, text) == known.end()) known.push_back(std::move(text));
  }
  check(!known.empty(), ErrorCode::unsupported,
        "{}: no variant for {}: the plan was built without sizes of {}, and this library (liblanner-runtime) "
        "has no builder to make one; build the plan with shapes or profiles, call prepare before it is "
        "saved, or link liblanner",
        graph->name, shapes_text(key.shapes), open_inputs_text(*graph, state_inputs()));
  if (known.size() > shown) {
    known.resize(shown);
    known.emplace_back("others");
  }
  fail(ErrorCode::unsupported,
       "{}: no variant for {}: the plan has {}, and this library (liblanner-runtime) has no builder to make "
       "one; "
       "build the plan with profiles for these shapes, or link liblanner",
       graph->name, shapes_text(key.shapes), joined(known, " and "));
}

/// A program with the kernels of another number of threads; null where not all are offered for this one.
std::shared_ptr<const Program> EngineState::same_kernels(const Graph& lowered, const Target& target) const {
  try {
    return std::make_shared<const Program>(lowered.clone(), backends(target), target, *constants_, callers);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    log_message(LogLevel::info, fmt::format("{} threads: {}; chosen anew", target.threads, error.message()));
    return nullptr;
  }
}

void EngineState::check_fits(std::size_t input, const Shape& shape) const {
  if (opt && input < opt->size() && (*opt)[input] == shape) return;
  const std::pair key(input, std::vector<std::int64_t>(shape.begin(), shape.end()));
  {
    const std::lock_guard lock(fitting_mutex_);
    if (fitting_.contains(key)) return;
  }
  GivenShapes given(inputs.size());
  given[input] = shape;
  graph_at(portable(), given); // may take long, so without the lock: binding known shapes never waits
  const std::lock_guard lock(fitting_mutex_);
  if (fitting_.size() >= kept_fitting_shapes) fitting_.clear();
  fitting_.insert(key);
}

const Graph& EngineState::portable() const {
  const AccountScope charged(account);
  std::call_once(unpacked_, [&] { portable_ = unpacked(*graph, *constants_); });
  return portable_ ? *portable_ : *graph;
}

/// The variant with the same shapes and other threads, else the one tuned for the profile that contains the
/// shapes, else the first of all, else the one made ahead with the nearest size.
EngineState::Model EngineState::tactic_source(const InputShapes& shapes, int threads) const {
  if (auto same = variants_.of_shapes(shapes, threads)) return {std::move(same), true};
  const ShapeProfile* profile = profile_of(shapes);
  if (!profile && !profiles.empty() && opt)
    log_message(LogLevel::warning,
                fmt::format("{}: no profile contains the shapes {}; kernels are chosen as for {}",
                            graph->name, shapes_text(shapes), shapes_text(*opt)));
  const std::optional<InputShapes>& like = profile ? profile->opt : opt;
  return {like ? variants_.of_shapes(*like, threads) : nearest_ahead(shapes, threads), false};
}

MadeVariantPtr EngineState::nearest_ahead(const InputShapes& shapes, int threads) const {
  const auto elements = [](const InputShapes& all) {
    double sum = 1;
    for (const Shape& shape : all) sum += static_cast<double>(shape.elements());
    return std::log(sum);
  };
  const double wanted = elements(shapes);
  MadeVariantPtr nearest;
  std::pair<double, bool> best;
  for (const auto& [key, made] : variants_.list()) {
    const std::pair distance(std::abs(elements(key.shapes) - wanted), key.threads != threads);
    if (!made->ahead || (nearest && distance >= best)) continue;
    nearest = made;
    best = distance;
  }
  return nearest;
}

/// `x: [1, 6], mask: [1, 6]`.
std::string EngineState::shapes_text(const InputShapes& shapes) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (!inputs[i].sequence)
      parts.push_back(fmt::format("{}: {}", inputs[i].name,
                                  caller_shape(*graph->body().parameter(i), shapes[i]).to_string()));
  return joined(parts, ", ");
}

void EngineState::adopt(const InputShapes& shapes, int threads, MadeVariant made) const {
  made.ahead = true;
  variants_.put({shapes, threads}, ready(std::move(made)));
}

void EngineState::set_weight_budget(std::optional<std::uint64_t> bytes) const {
  check(!bytes || !target.device.is_host(), ErrorCode::unsupported,
        "a weight budget is for engines on a GPU; on a CPU kernels read weights where they are");
  const AccountScope charged(account);
  constants_->devices()->set_budget(bytes);
}

} // namespace lanner
