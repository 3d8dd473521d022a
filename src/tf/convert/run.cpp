#include "tf/convert/run.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

Context context_of(const Engine& engine, int threads) {
  ContextOptions options;
  options.threads = threads;
  return engine.create_context(options);
}

Items run_in(Context& context, const Items& inputs, const Control& control) {
  Items results = context(inputs, control);
  context.unbind(); // nothing of this run stays bound for the next one
  return results;
}

/// Into a list that is kept from run to run, so that no memory is allocated.
const PartShapes& shapes_of(const PartPlan& plan, const Items& inputs, PartShapes& shapes) {
  shapes.resize(plan.inputs.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Tensor& tensor = inputs.at(input_binding(i)).tensor;
    shapes[i] = tensor.defined() ? tensor.shape() : Shape();
  }
  return shapes;
}

} // namespace

void check_inputs(const ImportGraph& graph, const Items& inputs) {
  for (const ImportValue& input : graph.inputs)
    check(inputs.contains(input.shown()), ErrorCode::invalid_argument, "input {}: no value was given",
          one_line(input.shown(), 200));
  for (const auto& [name, value] : inputs)
    check(std::ranges::find(graph.inputs, name, &ImportValue::shown) != graph.inputs.end(),
          ErrorCode::invalid_argument, "the model has no input '{}'", one_line(name, 200));
}

Items run_parts(const Division& division, const Items& inputs, const PartRun& run) {
  Items values;
  const ImportGraph& graph = division.flat.graph;
  check_inputs(graph, inputs);
  for (const ImportValue& input : graph.inputs) values[input.name] = inputs.at(input.shown());
  for (std::size_t p = 0; p < division.parts.size(); ++p) {
    const PartPlan& plan = division.parts[p];
    Items given;
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) given[input_binding(i)] = values.at(plan.inputs[i]);
    Items results = with_context([&] { return plan.name; }, [&] { return run(p, given); });
    for (std::size_t i = 0; i < plan.outputs.size(); ++i)
      values[plan.outputs[i]] = std::move(results[output_binding(i)]);
  }
  Items outputs;
  for (const ImportValue& output : graph.outputs) outputs[output.shown()] = values.at(output.name);
  return outputs;
}

ModelRun::ModelRun(const ModelState& model, int threads)
    : model_(model), threads_(threads), natives_(model.parts.size()), shapes_(model.parts.size()) {
  for (std::size_t p = 0; p < natives_.size(); ++p)
    if (model.parts[p].engine) natives_[p] = context_of(*model.parts[p].engine, threads);
}

Items ModelRun::operator()(const Items& inputs, const Control& control) {
  return run_parts(*model_.division, inputs, [&](std::size_t p, const Items& items) {
    return model_.parts[p].cache ? run_engine(p, items, control, false) : run_natively(p, items, control);
  });
}

Items ModelRun::run_engine(std::size_t p, const Items& inputs, const Control& control, bool ahead) {
  const Part& part = model_.parts[p];
  const PartShapes& shapes = shapes_of(part.plan, inputs, shapes_[p]);
  EngineCache::Taken taken = part.cache->take(shapes, threads_, control, ahead);
  if (auto* lease = std::get_if<Lease>(&taken)) return run_in(lease->context(), inputs, control);
  const auto cause = std::get<NativeCause>(taken);
  check(model_.options.native_fallback, ErrorCode::unsupported,
        "inputs {}: native_fallback is off, and no engine runs them: {} ({})", shapes_text(shapes),
        sentence(cause), to_string(cause));
  return run_natively(p, inputs, control, model_.group->limit == UINT64_MAX);
}

/// `keep`: the context stays for the next run.
Items ModelRun::run_natively(std::size_t p, const Items& inputs, const Control& control, bool keep) {
  std::optional<Context>& context = natives_[p];
  if (!context) context = context_of(model_.parts[p].cache->native_engine(control), threads_);
  try {
    Items results = run_in(*context, inputs, control);
    if (!keep) context.reset();
    return results;
  } catch (...) {
    if (!keep) context.reset();
    throw;
  }
}

void ModelRun::build(std::span<const Items> all, const Control& control) {
  const auto has_profiles = [](const Part& part) {
    return part.cache && part.cache->rules().shapes == EngineShapes::profiles;
  };
  for (const Part& part : model_.parts) {
    check(!part.cache || part.cache->rules().mode != EngineMode::fixed, ErrorCode::invalid_argument,
          "build: {} is static: its engine is built when the model is converted or loaded; mode dynamic "
          "builds engines for other shapes",
          part.plan.name);
    if (has_profiles(part)) part.cache->need_engine(control);
  }
  std::vector<std::vector<PartShapes>> seen(model_.parts.size());
  for (const Items& inputs : all)
    run_parts(*model_.division, inputs, [&](std::size_t p, const Items& items) {
      const Part& part = model_.parts[p];
      if (part.cache && !has_profiles(part)) return run_engine(p, items, control, true);
      if (part.cache) seen[p].push_back(shapes_of(part.plan, items, shapes_[p]));
      return run_natively(p, items, control);
    });
  for (std::size_t p = 0; p < seen.size(); ++p)
    if (!seen[p].empty()) model_.parts[p].cache->build_profiles(seen[p], control);
}

} // namespace lanner::tf
