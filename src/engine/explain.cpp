#include "engine/explain.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/json.h"
#include "engine/advice.h"
#include "engine/caller_options.h"
#include "engine/context/pictures.h"
#include "engine/precision_notes.h"
#include "engine/step_report.h"
#include "graph/op.h"
#include "program/lowered/fused_name.h"
#include "program/lowered/joins.h"
#include "program/lowered/lowered.h"
#include "program/lowered/precision.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

using Json = nlohmann::ordered_json;

Json considered_json(const Considered& one) {
  return {{"backend", one.backend},       {"kernel", one.kernel},     {"storage", one.storage},
          {"seconds", one.seconds},       {"measured", one.measured}, {"chosen", one.chosen},
          {"trust", to_string(one.trust)}};
}

Json report_json(const NodeReport& report) {
  Json considered = Json::array();
  for (const Considered& one : report.considered) considered.push_back(considered_json(one));
  return {{"node", report.node}, {"considered", std::move(considered)}, {"notes", report.notes}};
}

Json value_json(const Value& value) {
  Json json{{"name", value.name()}, {"type", value.type.to_string()}, {"storage", value.storage.to_string()}};
  if (value.constant()) json["constant"] = true;
  return json;
}

/// An input, and the value that it is a reshape of, if any: no step produces a reshape.
Json input_json(const Value& input) {
  Json json = value_json(input);
  const Value* made = &input;
  while (made->producer() && is_alias_of_input(*made->producer())) made = made->producer()->input(0);
  if (made != &input) json["from"] = made->name();
  return json;
}

bool is_view(const Node* node) {
  return node && node->tactic.backend == alias_backend;
}

void add_sources(const Node& node, std::vector<std::string>& sources) {
  for (const std::string& source : node.sources)
    if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
}

/// Views of a value are listed with the step that produces it.
void add_sources_of_views(const Value& value, std::vector<std::string>& sources) {
  for (const Use& use : value.uses()) {
    if (!is_view(use.node)) continue;
    add_sources(*use.node, sources);
    add_sources_of_views(*use.node->output(), sources);
  }
}

/// Source nodes of a step: its own, those of views of its results, and of views of the graph's inputs, which
/// no step produces.
std::vector<std::string> sources_of(const Node& node) {
  std::vector<std::string> sources = node.sources;
  for (const auto& output : node.outputs()) add_sources_of_views(*output, sources);
  for (const Value* input : node.inputs()) {
    const Value* made = input;
    while (made && is_view(made->producer())) made = made->producer()->input(0);
    if (!made || made->producer()) continue;
    for (; input != made; input = input->producer()->input(0)) add_sources(*input->producer(), sources);
  }
  return sources;
}

/// By step, bytes of weights that are copied to the device for it.
std::map<std::size_t, std::uint64_t> streamed_bytes(const WeightLocations& weights) {
  std::map<std::size_t, std::uint64_t> bytes;
  for (const WeightBlock& block : weights.blocks)
    for (std::uint32_t c = block.first_copy; c < block.first_copy + block.copies; ++c)
      bytes[block.step] += weights.constants[weights.copies[c].constant].bytes();
  return bytes;
}

/// Weights of an engine on a GPU; null on a CPU, where all are in host memory.
Json weights_json(const EngineState& state) {
  if (state.target.device.is_host()) return {};
  const WeightBytes bytes = state.constants().devices()->bytes();
  const auto budget = state.constants().devices()->budget();
  return {{"all", bytes.all},           {"streamable", bytes.streamable},
          {"min_budget", bytes.least},  {"budget", budget ? Json(*budget) : Json()},
          {"resident", bytes.resident}, {"ring", bytes.ring}};
}

Json advice_json(const Program& program) {
  Json json = Json::array();
  for (const Advice& one : advice_on(program))
    json.push_back({{"node", one.node},
                    {"title", one.title},
                    {"text", one.text},
                    {"seconds", one.seconds ? Json(*one.seconds) : Json()}});
  return json;
}

/// What the step's speed rests on. `flops`: of the whole network.
void add_speed(Json& json, const Step& step, const Target& target, std::uint64_t flops) {
  const MatrixUnit unit = matrix_unit(*step.node, target);
  json["matrix_unit"] = unit.name;
  if (!unit.reason.empty()) json["matrix_unit_reason"] = unit.reason;
  json["padding_bytes"] = padding_bytes(*step.node);
  json["flops_share"] = flops > 0 ? static_cast<double>(step.flops) / static_cast<double>(flops) : 0;
  const SpeedLimit limit = speed_limit(step, target);
  const double seconds = step.node->tactic.seconds;
  json["limit"] = *limit.by ? Json{{"by", limit.by},
                                   {"seconds", limit.seconds},
                                   {"share", seconds > 0 ? Json(limit.seconds / seconds) : Json()}}
                            : Json();
}

Json node_json(const Step& step, int streams, const std::map<std::string, const NodeReport*>& reports) {
  const Node& node = *step.node;
  Json json;
  json["name"] = node.output()->name();
  json["device"] = device_of(node).to_string();
  json["op"] = node.kind();
  json["kind"] = shown_kind(node);
  json["sources"] = sources_of(node);
  const std::string title = fused_name(json["sources"].get<std::vector<std::string>>());
  json["title"] = title.empty() ? node.output()->name() : title;
  json["backend"] = node.tactic.backend;
  json["kernel"] = node.tactic.kernel;
  json["seconds"] = node.tactic.seconds;
  if (step.offered && step.offered->tactic.accumulates)
    json["accumulates"] = to_string(*step.offered->tactic.accumulates);
  if (streams > 1) json["stream"] = step.stream;
  json["bytes"] = step.bytes;
  json["flops"] = step.flops;
  json["inputs"] = Json::array();
  for (const Value* input : node.inputs())
    if (input) json["inputs"].push_back(input_json(*input));
  json["outputs"] = Json::array();
  for (const auto& output : node.outputs()) json["outputs"].push_back(value_json(*output));
  const auto report = reports.find(node.output()->name());
  if (report != reports.end()) {
    const Json details = report_json(*report->second);
    json["considered"] = details["considered"];
    json["notes"] = details["notes"];
  }
  return json;
}

std::uint64_t constant_bytes(const Program& program) {
  std::uint64_t total = 0;
  std::set<const void*> counted;
  for (const Tensor& constant : program.constants())
    if (counted.insert(constant.data()).second)
      total += constant.dtype() == DType::string ? 0 : constant.bytes();
  return total;
}

/// Adds options on the callers' memory, if there are any.
void add_callers(Json& json, const EngineState& state) {
  Json callers = Json::object();
  write_callers(state, callers);
  for (const char* key : {"states", "aliases", "overwritable"})
    json[key] = callers.contains(key) ? callers[key] : Json::array();
  json["storages"] = callers.contains("storages") ? callers["storages"] : Json::object();
}

/// Sizes of a shape as callers give them.
Json sizes_json(const EngineState& state, std::size_t input, const Shape& shape) {
  return caller_shape(*state.graph->body().parameter(input), shape).dims();
}

/// Shapes by input, of those that have one.
Json shapes_json(const EngineState& state, const InputShapes& shapes) {
  Json json = Json::object();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (!state.inputs[i].sequence) append(json, state.inputs[i].name, sizes_json(state, i, shapes[i]));
  return json;
}

Json profile_json(const EngineState& state, const ShapeProfile& profile) {
  Json json = Json::object();
  for (std::size_t i = 0; i < profile.ranges.size(); ++i)
    if (const auto& range = profile.ranges[i])
      append(json, state.inputs[i].name,
             {{"min", sizes_json(state, i, range->min)},
              {"opt", sizes_json(state, i, range->opt)},
              {"max", sizes_json(state, i, range->max)}});
  return json;
}

/// By profile; null where there is no bound.
Json arena_bounds_json(const EngineState& state) {
  Json json = Json::array();
  for (std::size_t p = 0; p < state.profiles.size(); ++p) {
    const auto bound = state.arena_bound(p);
    json.push_back(bound ? Json(*bound) : Json());
  }
  return json;
}

Json variant_json(const EngineState& state, const VariantKey& key, const MadeVariant& made) {
  const ShapeProfile* profile = state.profile_of(key.shapes);
  double seconds = 0;
  for (const Step& step : made.program->steps()) seconds += step.node->tactic.seconds;
  return {{"shapes", shapes_json(state, key.shapes)},
          {"threads", key.threads},
          {"profile", profile ? Json(profile - state.profiles.data()) : Json()},
          {"ahead", made.ahead},
          {"steps", made.program->steps().size()},
          {"streams", made.program->streams()},
          {"seconds", seconds},
          {"arena_bytes", made.program->arena_bytes()}};
}

Json precision_json(const Precision& precision) {
  Json json{{"types", precision.types_text()},
            {"pins", Json::array()},
            {"strict", precision.strict},
            {"exact", precision.exact}};
  for (const PrecisionPin& pin : precision.pins)
    json["pins"].push_back({{"pattern", pin.pattern}, {"type", precision_name(pin.type)}});
  return json;
}

Json placement_json(const DevicePlacement& placement) {
  Json json{{"nodes", Json::array()}, {"strict", placement.strict}};
  for (const PlacedNodes& placed : placement.nodes)
    json["nodes"].push_back({{"pattern", placed.pattern}, {"device", placed.device.to_string()}});
  return json;
}

Json devices_json(const Target& target) {
  Json json = Json::array();
  for (const Device device : target.devices())
    json.push_back({{"device", device.to_string()}, {"isa", target.on(device).isa}});
  return json;
}

/// By device.
Json arenas_json(const Program& program) {
  Json json = Json::object();
  for (std::size_t d = 0; d < program.devices().size(); ++d)
    json[program.devices()[d].to_string()] = program.arena_bytes(d);
  return json;
}

} // namespace

std::string explain_json(const EngineState& state, const InputShapes& shapes, const MadeVariant& variant) {
  std::map<std::string, const NodeReport*> reports;
  for (const NodeReport& report : variant.reports) reports[report.node] = &report;
  const Program& program = *variant.program;
  Json json;
  json["name"] = state.graph->name;
  json["target"] = {{"device", state.target.device.to_string()},
                    {"isa", state.target.isa},
                    {"devices", devices_json(state.target)},
                    {"placement", placement_json(state.target.placement)},
                    {"threads", state.target.threads},
                    {"deterministic", state.target.deterministic},
                    {"precision", precision_json(state.target.precision)}};
  json["memory"] = {{"arena_bytes", program.arena_bytes()},
                    {"arenas", arenas_json(program)},
                    {"max_arena_bytes", arena_bounds_json(state)},
                    {"weight_bytes", constant_bytes(program)},
                    {"weights", weights_json(state)}};
  json["inputs"] = Json::array();
  for (const Binding& binding : state.inputs) json["inputs"].push_back(binding.to_string());
  json["outputs"] = Json::array();
  for (const Binding& binding : state.outputs) json["outputs"].push_back(binding.to_string());
  add_callers(json, state);
  json["shapes"] = shapes_json(state, shapes);
  json["open_sizes"] = !state.opt;
  json["source_nodes"] = state.graph->node_count();
  json["notes"] = state.notes;
  if (!state.opt)
    json["notes"].push_back(
        fmt::format("the build was given no sizes of {}: kernels are chosen at the first run of each, by "
                    "estimates, or ahead by prepare; shown here are those for {}",
                    open_inputs_text(*state.graph, state.state_inputs()), state.shapes_text(shapes)));
  for (std::string& line : precision_notes(*state.graph)) json["notes"].push_back(std::move(line));
  for (std::string& line : unused_precisions(program.graph(), state.target))
    json["notes"].push_back(std::move(line));
  for (std::string& line : unkept_placements(program.graph(), state.target))
    json["notes"].push_back(std::move(line));
  for (const NodeReport& report : variant.reports)
    for (const std::string& note : report.notes)
      if (report.node.empty()) json["notes"].push_back(note);
  json["profiles"] = Json::array();
  for (const ShapeProfile& profile : state.profiles) json["profiles"].push_back(profile_json(state, profile));
  json["variants"] = Json::array();
  for (const auto& [key, made] : state.variants().list())
    json["variants"].push_back(variant_json(state, key, *made));
  json["nodes"] = Json::array();
  const auto streamed = streamed_bytes(*program.weights());
  std::uint64_t flops = 0;
  for (const Step& step : program.steps()) flops += step.flops;
  for (const Step& step : program.steps()) {
    json["nodes"].push_back(node_json(step, program.streams(), reports));
    add_speed(json["nodes"].back(), step, program.target(), flops);
    const auto found = streamed.find(static_cast<std::size_t>(&step - program.steps().data()));
    if (found != streamed.end()) json["nodes"].back()["streamed_bytes"] = found->second;
  }
  json["advice"] = advice_json(program);
  return json_text(json, 2);
}

std::string graph_json(const Graph& graph) {
  Json json{{"name", graph.name}, {"nodes", Json::array()}};
  for (const auto& node : graph.body().nodes()) {
    if (is_constant(*node)) continue;
    Json one{{"name", node->output()->name()},
             {"op", node->kind()},
             {"sources", node->sources},
             {"inputs", Json::array()},
             {"outputs", Json::array()}};
    for (const Value* input : node->inputs())
      if (input && !input->constant()) one["inputs"].push_back(input->name());
    for (const auto& output : node->outputs())
      one["outputs"].push_back({{"name", output->name()}, {"type", output->type.to_string()}});
    json["nodes"].push_back(std::move(one));
  }
  return json_text(json);
}

std::string reports_json(const std::vector<NodeReport>& reports) {
  Json json = Json::array();
  for (const NodeReport& report : reports) json.push_back(report_json(report));
  return json_text(json);
}

std::vector<NodeReport> parse_reports(std::string_view text, const Limits& limits) {
  try {
    std::vector<NodeReport> reports;
    const nlohmann::json table = parse_json(text, limits);
    for (const auto& entry : table) {
      NodeReport report{
          entry.at("node").get<std::string>(), {}, entry.at("notes").get<std::vector<std::string>>()};
      for (const auto& one : entry.at("considered"))
        report.considered.push_back({one.at("backend").get<std::string>(),
                                     one.at("kernel").get<std::string>(),
                                     one.at("storage").get<std::string>(), one.at("seconds").get<double>(),
                                     one.at("measured").get<bool>(), one.at("chosen").get<bool>(),
                                     parse_trust(one.value("trust", "none"))});
      reports.push_back(std::move(report));
    }
    return reports;
  } catch (const Json::exception& error) {
    fail(ErrorCode::bad_data, "the table of tactics is damaged: {}", error.what());
  }
}

} // namespace lanner
