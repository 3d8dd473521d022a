#include "builder/precision/half_guard.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>
#include <lanner/log.h>

#include "backends/cpu/stored_types.h"
#include "base/text/json.h"
#include "builder/int8/batches.h"
#include "builder/int8/graph_run.h"
#include "builder/network_inputs.h"
#include "builder/precision/half_trials.h"
#include "calibration/signal_noise.h"
#include "engine/precision_notes.h"
#include "graph/op.h"
#include "program/lowered/precision.h"

namespace lanner {
namespace {

using Json = nlohmann::ordered_json;
using Batch = std::map<std::string, Item>;

/// Bytes of values that are measured in one go, and of all values and weights beyond which a network is not
/// measured without data: that would take longer than the rest of the build.
constexpr double bytes_at_once = 512e6, most_bytes = 4e9;
constexpr int most_batches = 8;

double bytes_of(const Value& value) {
  if (!value.type.is_static()) return 0;
  return static_cast<double>(value.type.shape().elements()) * 4;
}

double bytes_of(const HalfCandidate& candidate, const Graph& sized) {
  double bytes = 0;
  const auto add = [&](const std::string& name) {
    if (const Value* value = sized.find(name)) bytes += bytes_of(*value);
  };
  add(candidate.node);
  for (const std::string& value : candidate.values) add(value);
  return bytes;
}

double weights_of(const Graph& graph) {
  double bytes = 0;
  for (const auto& node : graph.body().nodes())
    if (is_constant(*node)) bytes += bytes_of(*node->output());
  return bytes;
}

/// Candidates in parts of about bytes_at_once.
std::vector<std::vector<HalfCandidate>> parts_of(std::vector<HalfCandidate> candidates, const Graph& sized) {
  std::vector<std::vector<HalfCandidate>> parts;
  double bytes = 0;
  for (HalfCandidate& candidate : candidates) {
    const double own = bytes_of(candidate, sized);
    if (parts.empty() || bytes + own > bytes_at_once) {
      parts.emplace_back();
      bytes = 0;
    }
    bytes += own;
    parts.back().push_back(std::move(candidate));
  }
  return parts;
}

/// Those that the policy lets kernels compute in a narrower type.
std::vector<HalfCandidate> free_candidates(const Graph& graph, const Target& target) {
  std::vector<HalfCandidate> candidates = half_candidates(graph);
  std::erase_if(candidates, [&](const HalfCandidate& candidate) {
    const Node* const node = graph.find(candidate.node)->producer();
    const auto own = target_for({&node, 1}, target);
    return !own || own->precision.strict; // pinned
  });
  return candidates;
}

class Measuring {
public:
  Measuring(const Graph& graph, const std::vector<DType>& types, const BuildOptions& options,
            const Target& target)
      : graph_(graph), types_(types), options_(options), host_(target.on({})) {
    host_.placement = {};
  }

  void add(const std::vector<HalfCandidate>& part, const std::vector<Batch>& batches) {
    std::set<std::string> values;
    for (const HalfCandidate& candidate : part) {
      values.insert(candidate.node);
      values.insert(candidate.values.begin(), candidate.values.end());
    }
    GraphRun fp32(graph_, {values.begin(), values.end()}, options_, host_);
    std::vector<HalfTrials> trials;
    for (const DType type : types_) trials.emplace_back(graph_, part, type, options_, host_);
    for (const Batch& batch : batches) {
      options_.control.cancel.check();
      const GraphRun::Results wanted = fp32.run(batch, options_.control);
      for (std::size_t t = 0; t < types_.size(); ++t)
        for (const auto& [node, tensor] : trials[t].run(wanted.values, options_.control))
          sums_[{node, types_[t]}].add(wanted.values.at(node).as<float>(), tensor.as<float>());
    }
  }

  std::vector<HalfVerdict> below(const std::vector<HalfCandidate>& candidates) const {
    std::vector<HalfVerdict> list;
    for (const HalfCandidate& candidate : candidates)
      for (const DType type : types_) {
        const auto found = sums_.find({candidate.node, type});
        if (found == sums_.end()) continue;
        const double snr = found->second.decibels();
        if (!(snr >= least_snr_of(type, options_.calibration))) list.push_back({candidate.node, type, snr});
      }
    return list;
  }

private:
  const Graph& graph_;
  const std::vector<DType>& types_;
  const BuildOptions& options_;
  Target host_;
  std::map<std::pair<std::string, DType>, SignalNoise> sums_;
};

std::vector<Batch> given_batches(const Graph& graph, const BuildOptions& options) {
  CalibrationData data = options.calibration.data;
  if (!data && !options.calibration.data_file.empty())
    data = batches_of(options.calibration.data_file, graph, options.limits);
  std::vector<Batch> batches;
  if (!data) return batches;
  for (int i = 0; i < most_batches; ++i) {
    auto batch = data(i == 0);
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  return batches;
}

Batch seeded_batch(const Graph& sized) {
  Batch batch;
  std::vector<Item> items = network_inputs(sized, {}, {.seed = 1});
  for (std::size_t i = 0; i < items.size(); ++i)
    batch.emplace(sized.body().parameter(i)->name(), std::move(items[i]));
  return batch;
}

/// Types of the policy that kernels compute in on this target.
std::vector<DType> guarded_types(const Target& target) {
  std::vector<DType> types;
  for (const DType type : {DType::f16, DType::bf16})
    if (target.precision.types.contains(type) &&
        (!target.device.is_host() || (type == DType::bf16 && multiplies_bf16(target))))
      types.push_back(type);
  return types;
}

Json json_of(const HalfGuard& guard) {
  Json nodes = Json::array();
  for (const HalfVerdict& one : guard.worst)
    nodes.push_back({{"node", one.node},
                     {"type", precision_name(one.type)},
                     {"snr_db", std::isfinite(one.snr) ? Json(one.snr) : Json(nullptr)}});
  Json json{{"guarded_on", !guard.why_not.empty() ? "nothing"
                           : guard.on_data        ? "data"
                                                  : "seeded inputs"},
            {"measured_nodes", guard.measured},
            {"fp32_nodes", std::move(nodes)}};
  if (!guard.why_not.empty()) json["why_not"] = guard.why_not;
  return json;
}

std::vector<std::string> lines_of(const HalfGuard& guard, const std::string& types) {
  std::vector<std::string> lines;
  if (!guard.why_not.empty()) return {fmt::format("precision {}: not guarded: {}", types, guard.why_not)};
  for (const HalfVerdict& one : guard.worst)
    lines.push_back(
        fmt::format("%{} is computed in fp32: {:.1f} dB in {}", one.node, one.snr, precision_name(one.type)));
  lines.push_back(fmt::format("precision {}: {} nodes measured on {}, {} went back to fp32{}", types,
                              guard.measured, guard.on_data ? "the data given" : "seeded inputs",
                              guard.worst.size(), guard.on_data ? "" : "; not guarded on your data"));
  return lines;
}

} // namespace

double least_snr_of(DType type, const Calibration& calibration) {
  const double of_int8 = Calibration{}.least_snr;
  if (calibration.least_snr != of_int8) return calibration.least_snr;
  return type == DType::f16 ? 40 : type == DType::bf16 ? 25 : of_int8;
}

HalfGuard measured_halves(const Graph& graph, const std::vector<DType>& types,
                          const std::optional<InputShapes>& shapes, const BuildOptions& options,
                          const Target& target) {
  HalfGuard guard;
  try {
    std::vector<Batch> batches = given_batches(graph, options);
    guard.on_data = !batches.empty();
    if (!guard.on_data && !shapes) guard.why_not = "no data are given, and sizes are open";
    if (!guard.on_data && !target.device.is_host())
      guard.why_not =
          "no data are given, and nodes are measured on the CPU, which takes longer than a GPU's build";
    if (!guard.on_data && weights_of(graph) > most_bytes)
      guard.why_not = "the network is too large without data";
    if (!guard.why_not.empty()) return guard;
    const std::unique_ptr<Graph> sized =
        shapes ? graph_at(graph, given_shapes(graph, *shapes)) : graph.clone();
    if (!guard.on_data) batches.push_back(seeded_batch(*sized));
    const std::vector<HalfCandidate> candidates = free_candidates(graph, target);
    Measuring measuring(graph, types, options, target);
    for (const auto& part : parts_of(candidates, *sized)) measuring.add(part, batches);
    guard.measured = candidates.size();
    guard.worst = measuring.below(candidates);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    guard = {};
    guard.why_not = error.message();
  }
  return guard;
}

void guard_halves(Graph& graph, const std::optional<InputShapes>& shapes, const BuildOptions& options,
                  Target& target) {
  constexpr std::size_t most_pins = 4096; // that a plan may hold
  const std::vector<DType> types = guarded_types(target);
  if (types.empty() || target.precision.strict) return;
  const HalfGuard guard = measured_halves(graph, types, shapes, options, target);
  for (const HalfVerdict& one : guard.worst)
    if (target.precision.pins.size() < most_pins) target.precision.pins.push_back({one.node, DType::f32});
  const std::vector<std::string> lines = lines_of(guard, target.precision.types_text());
  Json json = json_of(guard);
  json["notes"] = lines;
  graph.metadata[std::string(precision_key)] = exact_json_text(json);
  for (const std::string& line : lines) log_message(LogLevel::info, fmt::format("{}: {}", graph.name, line));
}

} // namespace lanner
