#include "engine/state.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>
#include <lanner/machine_limits.h>

#include "backends/backends.h"
#include "base/options.h"
#include "engine/given_shapes.h"
#include "graph/op.h"
#include "lower/vouched.h"
#include "passes/pipeline.h"

namespace lanner {
namespace {

constexpr std::size_t kept_specialisations = 64, kept_fitting_shapes = 1024;

Binding binding(std::string name, const Type& type) {
  Binding made;
  made.name = std::move(name);
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

std::vector<Node*> packed_constants(const Region& region) {
  std::vector<Node*> found;
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions())
      std::ranges::move(packed_constants(*inner), std::back_inserter(found));
    if (node->kind() == "constant" && !node->output()->constant()->layout().row_major())
      found.push_back(node.get());
  }
  return found;
}

/// The same graph with row-major constants; null where it has no others.
std::unique_ptr<const Graph> unpacked(const Graph& graph) {
  if (packed_constants(graph.body()).empty()) return nullptr;
  std::unique_ptr<Graph> result = graph.clone();
  for (Node* node : packed_constants(result->body()))
    node->attributes.set("value", node->output()->constant()->clone());
  return result;
}

} // namespace

std::string Binding::to_string() const {
  if (sequence) return name + ": sequence";
  return fmt::format("{}: {}[{}]", name, lanner::to_string(dtype),
                     ranked ? fmt::format("{}", fmt::join(dim_names, ", ")) : "*");
}

std::filesystem::path default_timing_cache() {
  const std::filesystem::path& folder = options().cache_folder;
  return folder.empty() ? folder : folder / "timing.txt";
}

void set_limits(Target& target) {
  if (target.deterministic) return;
  target.limits = machine_limits(target.device);
  target.host_limits = machine_limits({});
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

std::unique_ptr<Graph> specialised_graph(const Graph& graph, const InputShapes& shapes, const Limits& limits,
                                         const Control& control) {
  std::unique_ptr<Graph> concrete = graph_at(graph, given_shapes(graph, shapes));
  PassOptions options;
  options.limits = limits;
  options.control = control;
  run_passes(*concrete, options);
  return concrete;
}

bool Engine::State::Key::operator<(const Key& other) const {
  if (threads != other.threads) return threads < other.threads;
  const auto less = [](const Shape& a, const Shape& b) { return a.dims() < b.dims(); };
  return std::lexicographical_compare(shapes.begin(), shapes.end(), other.shapes.begin(), other.shapes.end(),
                                      less);
}

std::shared_ptr<const Specialisation> Engine::State::specialise(const InputShapes& shapes, int threads,
                                                                const Control& control, bool tune) const {
  const Key key{shapes, threads};
  const AccountScope charged(account); // for the engine, whichever context asks
  const std::lock_guard lock(mutex_);
  if (const auto found = made_.find(key); found != made_.end()) {
    found->second.used = ++requests_;
    return found->second.specialisation;
  }

  Target own = target;
  own.threads = threads;
  const std::vector<const Backend*> backends = backends_for(own);
  const std::shared_ptr<const Specialisation> model = tune ? nullptr : like(shapes, threads);
  std::vector<NodeReport> reports;
  std::shared_ptr<const Program> program;
  if (model && made_.contains({shapes, model->threads}) && vouched(model->program->graph(), backends)) {
    program = same_kernels(model->program->graph(), own);
    reports = model->reports;
  }
  if (!program) {
    TimingCache cache(timing_cache, retune);
    Tuner tuner(own, tune ? budget : 0, cache, constants_, control);
    const Graph* chosen = model ? &model->program->graph() : nullptr;
    Lowered result = lower(specialised_graph(portable(), shapes, limits, control),
                           {backends, own, tuner, constants_, control, chosen});
    cache.save();
    program = std::make_shared<const Program>(std::move(result.graph), backends, own, constants_);
    reports = std::move(result.reports);
  }
  auto made =
      std::make_shared<const Specialisation>(Specialisation{std::move(program), std::move(reports), threads});
  keep(key, made);
  return made;
}

/// A program of the kernels that another number of threads runs by; null where not all are offered for this
/// one.
std::shared_ptr<const Program> Engine::State::same_kernels(const Graph& lowered, const Target& target) const {
  try {
    return std::make_shared<const Program>(lowered.clone(), backends_for(target), target, constants_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    log(LogLevel::info, fmt::format("{} threads: {}; chosen anew", target.threads, error.message()));
    return nullptr;
  }
}

/// Those of the typical shapes stay, which others take their choices from; of the rest the one that was not
/// asked for the longest goes.
void Engine::State::keep(Key key, std::shared_ptr<const Specialisation> made) const {
  if (made_.size() >= kept_specialisations) {
    const auto age = [&](const auto& entry) {
      return entry.first.shapes == typical ? requests_ + 1 : entry.second.used;
    };
    const auto oldest = std::ranges::min_element(made_, {}, age);
    if (oldest->first.shapes != typical) made_.erase(oldest);
  }
  made_[std::move(key)] = {std::move(made), ++requests_};
}

void Engine::State::check_fits(std::size_t input, const Shape& shape) const {
  if (input < typical.size() && typical[input] == shape) return;
  const std::pair key(input, std::vector<std::int64_t>(shape.begin(), shape.end()));
  const std::lock_guard lock(fitting_mutex_);
  if (fitting_.contains(key)) return;
  GivenShapes given(inputs.size());
  given[input] = shape;
  graph_at(portable(), given);
  if (fitting_.size() >= kept_fitting_shapes) fitting_.clear();
  fitting_.insert(key);
}

const Graph& Engine::State::portable() const {
  const AccountScope charged(account);
  std::call_once(unpacked_, [&] { portable_ = unpacked(*graph); });
  return portable_ ? *portable_ : *graph;
}

/// One with the same shapes and other threads, else the one that the build tuned.
std::shared_ptr<const Specialisation> Engine::State::like(const InputShapes& shapes, int threads) const {
  std::shared_ptr<const Specialisation> typical_one;
  for (const auto& [key, made] : made_) {
    if (key.shapes == shapes && key.threads != threads) return made.specialisation;
    if (key.shapes == typical) typical_one = made.specialisation;
  }
  return typical_one;
}

void Engine::State::adopt(const InputShapes& shapes, int threads, Specialisation made) const {
  const std::lock_guard lock(mutex_);
  keep({shapes, threads}, std::make_shared<const Specialisation>(std::move(made)));
}

} // namespace lanner
