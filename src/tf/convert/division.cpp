#include "tf/convert/division.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/control_flow/dataflow.h"
#include "importers/tensorflow/engine_nodes.h"
#include "importers/tensorflow/flat_graph.h"
#include "tf/convert/flat_index.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

using Indices = std::vector<std::uint32_t>;

/// Whether an engine can take or give a value: TF-TRT's engines take tensors of numbers.
bool may_cross(const NodeTrial& trial, const std::string& value) {
  const auto type = trial.types.find(value);
  return type != trial.types.end() && type->second.is_tensor() && type->second.dtype() != DType::string;
}

std::optional<NativeReason> reason_of(const ImportNode& node, const NodeTrial& trial) {
  if (const auto found = trial.reasons.find(node.name); found != trial.reasons.end())
    return NativeReason{"not_converted", found->second};
  return std::nullopt;
}

/// Nodes computed from constants alone have no edges: whatever reads them gets copies. `outside`: in no
/// engine.
SegmenterGraph segmenter_graph(const Division& division, const tensorflow::NodeNames& outside) {
  const ImportModel& flat = division.flat;
  const NodeTrial& trial = division.trial;
  const FlatIndex& index = *division.index;
  std::map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t n = 0; n < flat.graph.nodes.size(); ++n) by_name.emplace(flat.graph.nodes[n].name, n);
  std::map<std::string_view, std::uint32_t> inputs;
  SegmenterGraph graph;
  for (const ImportNode& node : flat.graph.nodes) {
    SegmenterNode& made = graph.nodes.emplace_back();
    made.name = node.name;
    made.op = node.op;
    const auto n = static_cast<std::uint32_t>(graph.nodes.size() - 1);
    made.reason = index.is_constant(n) ? NativeReason{"constant", "computed from constants alone"}
                                       : reason_of(node, trial);
    if (!made.reason && outside.contains(node.name))
      made.reason = NativeReason{"control_flow", "control flow that engines of a saved model cannot have"};
    made.inputs_may_enter =
        std::ranges::all_of(node.inputs, [&](const auto& v) { return may_cross(trial, v); });
    made.outputs_may_leave =
        std::ranges::all_of(node.outputs, [&](const auto& v) { return v.empty() || may_cross(trial, v); });
  }
  for (const ImportValue& input : flat.graph.inputs) {
    inputs.emplace(input.name, static_cast<std::uint32_t>(graph.nodes.size()));
    SegmenterNode& made = graph.nodes.emplace_back();
    made.name = input.name;
    made.op = "Placeholder";
    made.reason = NativeReason{"input", "an input of the model"};
  }
  for (std::uint32_t n = 0; n < flat.graph.nodes.size(); ++n) {
    check_deadline();
    for (const std::string& input : flat.graph.nodes[n].inputs) {
      if (index.is_constant(n) || index.is_constant(input)) continue;
      if (const NodeOutput* made = index.maker(input))
        graph.nodes[n].inputs.push_back(*made);
      else if (const auto given = inputs.find(input); given != inputs.end())
        graph.nodes[n].inputs.push_back({given->second, 0});
    }
    for (const std::string& control : flat.graph.nodes[n].controls)
      if (const auto found = by_name.find(control); found != by_name.end())
        graph.nodes[n].control_inputs.push_back(found->second);
  }
  for (const ImportValue& output : flat.graph.outputs)
    if (const NodeOutput* made = index.maker(output.name)) graph.fetched.push_back(*made);
  return graph;
}

SegmenterOptions segmenter_options(const ConvertOptions& options) {
  SegmenterOptions made;
  made.minimum_segment_size = options.minimum_segment_size;
  made.maximum_engines = options.maximum_engines;
  made.denied_nodes = {options.denied_nodes.begin(), options.denied_nodes.end()};
  made.denied_operators = {options.denied_operators.begin(), options.denied_operators.end()};
  return made;
}

/// Orders engines and native nodes so that each runs after what it reads; native nodes that are ready
/// together are one part.
class PartOrder {
public:
  PartOrder(const std::vector<ImportNode>& nodes, const FlatIndex& index, std::vector<Indices> engines)
      : engines_(std::move(engines)), unit_(nodes.size(), none) {
    for (std::size_t e = 0; e < engines_.size(); ++e)
      for (const std::uint32_t n : engines_[e]) unit_[n] = e;
    std::size_t next = engines_.size();
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      if (unit_[n] != none || index.is_constant(n)) continue;
      unit_[n] = next++;
      single_.push_back(n);
    }
    waits_.resize(next);
    readers_.resize(next);
    for (std::uint32_t n = 0; n < nodes.size(); ++n)
      for (const std::string& input : nodes[n].inputs)
        if (const NodeOutput* made = index.maker(input)) connect(made->node, n);
  }

  /// Calls `engine(index)` and `natives(nodes)` in order.
  template<typename Engine, typename Natives>
  void walk(Engine engine, Natives natives) {
    std::vector<std::size_t> ready_natives, ready_engines;
    const auto offer = [&](std::size_t unit) {
      (unit < engines_.size() ? ready_engines : ready_natives).push_back(unit);
    };
    for (std::size_t unit = 0; unit < waits_.size(); ++unit)
      if (waits_[unit].empty()) offer(unit);
    std::size_t done = 0;
    const auto finish = [&](std::size_t unit) {
      ++done;
      for (const std::size_t reader : readers_[unit])
        if (waits_[reader].erase(unit) > 0 && waits_[reader].empty()) offer(reader);
    };
    while (!ready_natives.empty() || !ready_engines.empty()) {
      check_deadline();
      Indices group;
      while (!ready_natives.empty()) {
        const std::size_t unit = ready_natives.back();
        ready_natives.pop_back();
        group.push_back(single_[unit - engines_.size()]);
        finish(unit);
      }
      if (!group.empty()) natives(std::move(group));
      if (ready_engines.empty()) continue;
      const std::size_t unit = ready_engines.back();
      ready_engines.pop_back();
      engine(unit);
      finish(unit);
    }
    check(done == waits_.size(), ErrorCode::bad_data, "the graph has a cycle");
  }

private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void connect(std::uint32_t from, std::uint32_t to) {
    if (unit_[from] == none || unit_[to] == none || unit_[from] == unit_[to]) return;
    if (waits_[unit_[to]].insert(unit_[from]).second) readers_[unit_[from]].push_back(unit_[to]);
  }

  std::vector<Indices> engines_;
  std::vector<std::size_t> unit_;
  Indices single_; ///< Native nodes, in the order of their units.
  std::vector<std::set<std::size_t>> waits_;
  std::vector<std::vector<std::size_t>> readers_;
};

/// Values that a part reads from outside and gives to others or as `results` of the model. A constant from
/// outside is no input.
void set_bindings(PartPlan& part, const ImportModel& flat, const FlatIndex& index,
                  const std::set<std::string_view>& results) {
  const std::set<std::uint32_t> inside(part.nodes.begin(), part.nodes.end());
  std::set<std::string_view> seen;
  for (const std::uint32_t n : part.nodes)
    for (const std::string& input : flat.graph.nodes[n].inputs) {
      const NodeOutput* made = index.maker(input);
      if (made && (inside.contains(made->node) || index.is_constant(made->node))) continue;
      if (seen.insert(input).second) part.inputs.push_back(input);
    }
  const auto leaves = [&](const std::string& output) {
    const auto outside = [&](std::uint32_t reader) { return !inside.contains(reader); };
    return results.contains(output) || std::ranges::any_of(index.readers(output), outside);
  };
  for (const std::uint32_t n : part.nodes)
    for (const std::string& output : flat.graph.nodes[n].outputs)
      if (!output.empty() && leaves(output)) part.outputs.push_back(output);
}

/// Constant outputs of the model: nothing else computes them.
Indices constant_outputs(const ImportModel& flat, const FlatIndex& index) {
  Indices found;
  for (const ImportValue& output : flat.graph.outputs)
    if (const NodeOutput* made = index.maker(output.name);
        made && index.is_constant(made->node) && std::ranges::find(found, made->node) == found.end())
      found.push_back(made->node);
  return found;
}

void add_parts(Division& division, const FlatIndex& index, std::vector<Indices> engines,
               const std::vector<std::string>& names) {
  const std::vector<ImportNode>& nodes = division.flat.graph.nodes;
  std::size_t natives = 0;
  std::set<std::string_view> results;
  for (const ImportValue& output : division.flat.graph.outputs) results.insert(output.name);
  const auto add = [&](PartPlan part) {
    set_bindings(part, division.flat, index, results);
    if (!part.outputs.empty()) division.parts.push_back(std::move(part));
  };
  PartOrder order(nodes, index, engines);
  if (Indices constants = constant_outputs(division.flat, index); !constants.empty())
    add({fmt::format("native_{}", natives++), false, std::move(constants), {}, {}, {}, {}});
  order.walk(
      [&](std::size_t e) {
        add({names[e], true, engines[e], {}, {}, {}, {}});
      },
      [&](Indices group) {
        std::ranges::sort(group);
        add({fmt::format("native_{}", natives++), false, std::move(group), {}, {}, {}, {}});
      });
}

std::string text_attribute(const ImportNode& node, std::string_view name) {
  const auto* text = tensorflow::attribute_of<std::string>(node, name);
  return text ? *text : std::string();
}

/// What the node of an engine says about its precision.
void take_precision(Division& division) {
  for (PartPlan& part : division.parts) {
    if (!part.engine) continue;
    const ImportNode& node = division.flat.graph.nodes[part.nodes.front()];
    part.precision = text_attribute(node, "precision_mode");
    part.calibration = text_attribute(node, "calibration_data");
  }
}

void require_rules(const Division& division) {
  const std::string foreign = foreign_nodes(division);
  check(foreign.empty(), ErrorCode::unsupported, "nodes that nothing here can run without TensorFlow: {}",
        foreign);
}

/// Nodes that were converted need no control edges: what they compute does not depend on state. A node that
/// waits for one of them waits for the nodes with state that come before it instead.
void drop_controls(Division& division) {
  std::vector<ImportNode>& nodes = division.flat.graph.nodes;
  const auto stays = [&](const std::string& name) { return division.trial.reasons.contains(name); };
  std::map<std::string_view, const ImportNode*> makers;
  for (const ImportNode& node : nodes) {
    makers.emplace(node.name, &node);
    for (const std::string& output : node.outputs) makers.emplace(output, &node);
  }
  for (ImportNode& node : nodes) {
    if (!stays(node.name) || std::ranges::all_of(node.controls, stays)) continue;
    std::vector<std::string> waiting = std::move(node.controls);
    node.controls.clear();
    std::set<const ImportNode*> seen{&node};
    while (!waiting.empty()) {
      check_deadline();
      const auto found = makers.find(waiting.back());
      waiting.pop_back();
      if (found == makers.end() || !seen.insert(found->second).second) continue;
      const ImportNode& before = *found->second;
      if (stays(before.name) && tensorflow::touches_state(before)) {
        count_bytes(sizeof(std::string) + before.name.size());
        node.controls.push_back(before.name);
        continue;
      }
      waiting.insert(waiting.end(), before.inputs.begin(), before.inputs.end());
      waiting.insert(waiting.end(), before.controls.begin(), before.controls.end());
    }
  }
  for (ImportNode& node : nodes)
    if (!stays(node.name)) node.controls.clear();
}

/// What is behind control flow of TensorFlow 1 that stays as it is may not run, or more than once: an engine
/// with nodes of both sides would be wrong. Up to the ends of loops.
void keep_in_dataflow(Division& division) {
  std::set<std::string, std::less<>> inside;
  for (const ImportNode& node : division.flat.graph.nodes) {
    const bool is_flow = node.attributes.contains(tensorflow::dataflow_reason);
    const bool behind = std::ranges::any_of(node.inputs, [&](const auto& v) { return inside.contains(v); });
    if ((!is_flow && !behind) || node.op == "Exit" || node.op == "RefExit") continue;
    inside.insert(node.outputs.begin(), node.outputs.end());
    if (!is_flow)
      division.trial.reasons.emplace(node.name,
                                     "it is in control flow of TensorFlow 1 that is not converted");
  }
  inside.erase("");
}

/// A node computed from constants is where its first reader is.
void adopt_constants(Division& division, const FlatIndex& index) {
  const std::vector<ImportNode>& nodes = division.flat.graph.nodes;
  for (std::size_t n = nodes.size(); n-- > 0;)
    for (const std::string& input : nodes[n].inputs) {
      const NodeOutput* made = index.maker(input);
      if (!made || !index.is_constant(made->node) || division.nodes[n].engine.empty()) continue;
      ConvertedNode& constant = division.nodes[made->node];
      constant.engine = division.nodes[n].engine;
      constant.code = constant.reason = {};
    }
}

/// Every value that is read is made by a node or is an input.
void require_values(const ImportGraph& graph) {
  std::set<std::string_view> known;
  for (const ImportValue& input : graph.inputs) known.insert(input.name);
  for (const ImportNode& node : graph.nodes)
    for (const std::string& output : node.outputs) known.insert(output);
  const auto require = [&](const std::string& value, const std::string& reader) {
    check(known.contains(value), ErrorCode::bad_data, "{}: value '{}' is read, but no node writes it",
          one_line(reader, 200), one_line(value, 200));
  };
  for (const ImportNode& node : graph.nodes)
    for (const std::string& input : node.inputs)
      if (!input.empty()) require(input, "node " + node.name);
  for (const ImportValue& output : graph.outputs) require(output.name, "output " + output.shown());
}

/// Takes the name of an engine's node from the names of what is in it, so that they are those of the model
/// that was converted, to which its calibration table refers. Left alone where two nodes would have one name.
void remove_prefix(std::vector<ImportNode>& nodes, std::map<std::string, std::string>& names,
                   const std::string& prefix, const std::vector<std::string>& inputs) {
  const auto shortened = [&](const std::string& name) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  };
  std::set<std::string> made(inputs.begin(), inputs.end());
  for (const ImportNode& node : nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty() && !made.insert(shortened(output)).second) return;
  for (ImportNode& node : nodes) {
    node.name = shortened(node.name);
    for (auto* values : {&node.inputs, &node.outputs, &node.controls})
      for (std::string& value : *values) value = shortened(value);
  }
  for (auto& [name, value] : names) value = shortened(value);
}

} // namespace

tensorflow::NodeNames unsavable_flow(const Division& division) {
  tensorflow::NodeNames names;
  if (!division.library) return names;
  for (const auto& [name, flow] : division.library->dataflow) {
    names.insert(name);
    for (const ImportNode& node : flow.nodes) names.insert(node.name);
  }
  constexpr std::int64_t resource = 20;
  for (const ImportNode& node : division.flat.graph.nodes)
    for (const char* types : {"T", "Tin"})
      if (const auto* list = tensorflow::attribute_of<std::vector<std::int64_t>>(node, types);
          list && std::ranges::find(*list, resource) != list->end())
        names.insert(node.name);
  return names;
}

const Type& type_of(const Division& division, const std::string& value) {
  const auto found = division.trial.types.find(value);
  check(found != division.trial.types.end(), ErrorCode::unsupported,
        "value '{}' is no tensor, or its type is not known; expected tensors as inputs and outputs",
        one_line(value, 200));
  return found->second;
}

bool is_native(const Division& division, std::uint32_t node) {
  return division.nodes[node].engine.empty() && !division.index->is_constant(node);
}

std::string foreign_nodes(const Division& division) {
  constexpr std::size_t shown = 3;
  std::map<std::string, std::vector<std::string>> nodes;
  for (const ConvertedNode& node : division.nodes)
    if (node.engine.empty() && division.trial.reasons.contains(node.name))
      nodes[node.op].push_back(node.name);
  std::string list;
  for (const auto& [op, names] : nodes) {
    list += fmt::format("{}{} (", list.empty() ? "" : "; ", one_line(op, 200));
    for (std::size_t i = 0; i < std::min(names.size(), shown); ++i)
      list += (i == 0 ? "" : ", ") + one_line(names[i], 200);
    if (names.size() > shown) list += fmt::format(" and {} more", names.size() - shown);
    list += "): " + one_line(division.trial.reasons.find(names.front())->second, 300);
  }
  return list;
}

Division divide(ImportModel flat, const ConvertOptions& options, const ImportOptions& import,
                std::shared_ptr<const tensorflow::SourceLibrary> library) {
  const Meter divided;
  Division division{std::move(flat), {}, {}, {}, {}, std::move(library)};
  require_values(division.flat.graph);
  division.trial = tensorflow::try_nodes(division.flat, import, division.library.get());
  keep_in_dataflow(division);
  drop_controls(division);
  division.index = std::make_shared<FlatIndex>(division.flat.graph.nodes, division.trial.reasons);
  const FlatIndex& index = *division.index;
  const SegmenterGraph graph =
      segmenter_graph(division, options.stand_alone ? tensorflow::NodeNames() : unsavable_flow(division));
  const Segmentation segmentation = segment_graph(graph, segmenter_options(options));
  for (const ImportNode& node : division.flat.graph.nodes)
    division.nodes.push_back({node.name, node.op, {}, {}, {}});
  std::vector<Indices> engines;
  std::vector<std::string> names;
  for (const Segment& segment : segmentation.segments) {
    engines.push_back(segment.nodes);
    names.push_back(segment.name);
    for (const std::uint32_t n : segment.nodes) division.nodes[n].engine = segment.name;
  }
  for (const NativeNode& native : segmentation.native)
    if (native.node < division.nodes.size()) {
      division.nodes[native.node].code = native.reason.code;
      division.nodes[native.node].reason = native.reason.text;
    }
  adopt_constants(division, index);
  if (!division.library || options.stand_alone) require_rules(division);
  add_parts(division, index, std::move(engines), names);
  return division;
}

Division divide_as_saved(ImportModel flat, const ImportOptions& import,
                         std::shared_ptr<const tensorflow::SourceLibrary> library) {
  Division division{std::move(flat), {}, {}, {}, {}, std::move(library)};
  require_values(division.flat.graph);
  division.trial = tensorflow::try_nodes(division.flat, import, division.library.get());
  std::vector<Indices> engines;
  std::vector<std::string> names;
  for (std::uint32_t n = 0; n < division.flat.graph.nodes.size(); ++n) {
    const ImportNode& node = division.flat.graph.nodes[n];
    ConvertedNode& made = division.nodes.emplace_back(ConvertedNode{node.name, node.op, {}, {}, {}});
    if (!node.attributes.contains(tensorflow::engine_mark)) {
      made.code = "native";
      made.reason = "native in the converted model";
      continue;
    }
    made.op = "TRTEngineOp";
    made.engine = node.name;
    engines.push_back({n});
    names.push_back(node.name);
  }
  require_rules(division);
  division.index = std::make_shared<FlatIndex>(division.flat.graph.nodes, division.trial.reasons);
  add_parts(division, *division.index, std::move(engines), names);
  take_precision(division);
  return division;
}

ImportModel part_model(const Division& division, const PartPlan& part, const Limits& limits) {
  const ImportModel& flat = division.flat;
  ImportModel model;
  model.dtype_of = flat.dtype_of;
  model.graph.name = part.name;
  model.functions = flat.functions;
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    const std::string& name = part.inputs[i];
    names[name] = name;
    Type type = type_of(division, name);
    if (type.ranked()) {
      Dims dims = type.dims();
      for (std::size_t d = 0; d < dims.size(); ++d) // an expression of other sizes is open here
        if (!dims[d].is_constant() && !dims[d].as_symbol())
          dims[d] = Dim::symbol(fmt::format("unknown__{}", d));
      type = type.with_dims(std::move(dims));
    }
    model.graph.inputs.push_back({name, std::move(type), input_binding(i)});
  }
  std::set<std::uint32_t> chosen(part.nodes.begin(), part.nodes.end());
  division.index->add_constants(chosen);
  std::vector<ImportNode> nodes;
  for (const std::uint32_t n : chosen) nodes.push_back(flat.graph.nodes[n]);
  model.graph.nodes = tensorflow::inlined(model, nodes, "", names, limits);
  if (const ImportNode& first = flat.graph.nodes[part.nodes.front()];
      part.nodes.size() == 1 && first.attributes.contains(tensorflow::engine_mark))
    remove_prefix(model.graph.nodes, names, first.name + "/", part.inputs);
  for (std::size_t i = 0; i < part.outputs.size(); ++i)
    model.graph.outputs.push_back({names[part.outputs[i]], {}, output_binding(i)});
  return model;
}

} // namespace lanner::tf
