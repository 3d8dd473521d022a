#include "tf/convert/saved_model_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"
#include "tf/convert/flat_index.h"
#include "tf/segment/segmenter.h"
#include "tf/write/engine_node.h"
#include "tf/write/saved_model.h"

namespace lanner::tf {
namespace {

PartialShape partial(const Type& type) {
  if (!type.ranked()) return {};
  std::vector<std::int64_t> dims;
  for (const Dim& dim : type.dims()) dims.push_back(dim.is_constant() ? dim.value() : -1);
  return {std::move(dims)};
}

template<typename To, typename From>
std::vector<To> converted(const std::vector<From>& values) {
  std::vector<To> made;
  for (const From& value : values) made.push_back(static_cast<To>(value));
  return made;
}

/// A list; of an empty one the reader does not know what it is a list of.
std::optional<AttrValue> list_value(const ImportAttribute& attribute) {
  const int kind = attribute.kind - ImportAttribute::list_kind;
  if (const auto* list = std::get_if<std::vector<std::string>>(&attribute.value)) {
    if (kind != 10) return AttrValue(*list);
    std::vector<FunctionName> functions;
    for (const std::string& name : *list) functions.push_back({name});
    return AttrValue(std::move(functions));
  }
  if (const auto* list = std::get_if<std::vector<double>>(&attribute.value))
    return AttrValue(converted<float>(*list));
  if (const auto* list = std::get_if<std::vector<Type>>(&attribute.value)) {
    std::vector<PartialShape> shapes;
    for (const Type& type : *list) shapes.push_back(partial(type));
    return AttrValue(std::move(shapes));
  }
  const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value);
  if (!list) return std::nullopt;
  if (kind == 5) return AttrValue(converted<bool>(*list));
  if (kind == 6) return AttrValue(converted<DataType>(*list));
  return AttrValue(*list);
}

std::optional<AttrValue> value_of(const ImportAttribute& attribute) {
  if (attribute.kind >= ImportAttribute::list_kind) return list_value(attribute);
  if (const auto* text = std::get_if<std::string>(&attribute.value))
    return attribute.kind == 10 ? AttrValue(FunctionName{*text}) : AttrValue(*text);
  if (const auto* number = std::get_if<double>(&attribute.value))
    return AttrValue(static_cast<float>(*number));
  if (const auto* type = std::get_if<Type>(&attribute.value)) return AttrValue(partial(*type));
  if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) return AttrValue(*tensor);
  const auto* number = std::get_if<std::int64_t>(&attribute.value);
  if (!number) return std::nullopt;
  if (attribute.kind == 5) return AttrValue(*number != 0);
  if (attribute.kind == 6) return AttrValue(static_cast<DataType>(*number));
  return AttrValue(*number);
}

/// Variables are constants: what read a variable by its handle reads a tensor now, as TensorFlow's freezing
/// leaves it.
void read_constants(NodeRecord& record) {
  Attributes& attributes = record.attributes;
  const auto rename = [&](const char* from, const char* to) {
    if (const auto found = attributes.find(from); found != attributes.end()) {
      AttrValue value = std::move(found->second);
      attributes.erase(found);
      attributes.insert_or_assign(to, std::move(value));
    }
  };
  if (record.op == "ReadVariableOp") {
    record.op = "Identity";
    rename("dtype", "T");
  } else if (record.op == "ResourceGather") {
    const auto found = attributes.find("batch_dims");
    const auto* batch_dims = found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    check(!batch_dims || *batch_dims == 0, ErrorCode::unsupported,
          "node {} (ResourceGather): with batch_dims {} it cannot be written; expected 0",
          one_line(record.name, 200), batch_dims ? *batch_dims : 0);
    record.op = "Gather";
    attributes.erase("batch_dims");
    rename("dtype", "Tparams");
  }
}

NodeRecord record_of(const ImportNode& node) {
  NodeRecord record{node.name, node.op, {}, node.inputs, {}};
  for (const auto& [name, attribute] : node.attributes) {
    const bool writable =
        !std::holds_alternative<std::shared_ptr<ImportGraph>>(attribute.value) && attribute.kind != 10;
    check(writable, ErrorCode::unsupported,
          "node {} ({}): control flow cannot be written yet; save the plan of Engine::build instead",
          one_line(node.name, 200), node.op);
    if (auto value = value_of(attribute)) record.attributes.emplace(name, std::move(*value));
  }
  if (node.op == "Const") // made of a variable, it has a value alone
    if (const auto* tensor = record.attributes.contains("value")
                                 ? std::get_if<Tensor>(&record.attributes.at("value"))
                                 : nullptr)
      record.attributes.insert_or_assign("dtype", AttrValue(data_type_of(tensor->dtype())));
  read_constants(record);
  return record;
}

NodeRecord placeholder(const std::string& name, const Type& type) {
  NodeRecord node{name, "Placeholder", {}, {}, {}};
  node.attributes.emplace("dtype", data_type_of(type.dtype()));
  node.attributes.emplace("shape", partial(type));
  return node;
}

/// A part's nodes as a graph of their own, between placeholders and Identity nodes named after the bindings.
std::string segment_bytes(const Division& division, const PartPlan& plan, const Limits& limits) {
  const ImportModel model = part_model(division, plan, limits);
  GraphRecord graph;
  std::map<std::string, std::string> names;
  for (const ImportValue& input : model.graph.inputs) {
    names[input.name] = input.label;
    graph.nodes.push_back(placeholder(input.label, *input.type));
  }
  for (const ImportNode& node : model.graph.nodes) {
    NodeRecord& record = graph.nodes.emplace_back(record_of(node));
    for (std::string& input : record.inputs)
      if (const auto renamed = names.find(input); renamed != names.end()) input = renamed->second;
  }
  for (const ImportValue& output : model.graph.outputs) {
    NodeRecord node{output.label, "Identity", {}, {output.name}, {}};
    if (const auto given = names.find(output.name); given != names.end()) node.inputs = {given->second};
    const auto type = division.trial.types.find(output.name);
    node.attributes.emplace(
        "T", data_type_of(type == division.trial.types.end() ? DType::f32 : type->second.dtype()));
    graph.nodes.push_back(std::move(node));
  }
  return serialized(graph);
}

std::string precision_name(const Precision& precision) {
  if (precision.types.contains(DType::i8)) return "INT8";
  return precision.types.contains(DType::f16) ? "FP16" : "FP32";
}

EngineNode engine_of(const ModelState& state, const Part& part) {
  const Division& division = *state.division;
  EngineNode node;
  node.name = part.plan.name;
  node.inputs = part.plan.inputs;
  for (const std::string& input : part.plan.inputs) {
    node.input_types.push_back(data_type_of(type_of(division, input).dtype()));
    node.input_shapes.push_back(partial(type_of(division, input)));
  }
  for (const std::string& output : part.plan.outputs) {
    node.output_types.push_back(data_type_of(type_of(division, output).dtype()));
    node.output_shapes.push_back(partial(type_of(division, output)));
  }
  node.serialized_segment = segment_bytes(division, part.plan, state.options.build.limits);
  node.precision = precision_name(part.precision);
  node.use_calibration = part.use_calibration;
  const std::string table = part.cache->calibration();
  node.calibration_data = table.empty() ? part.plan.calibration : table;
  const CacheRules& rules = part.cache->rules();
  node.max_cached_engines = static_cast<std::int64_t>(rules.maximum);
  node.max_batch_size = rules.max_batch;
  node.use_implicit_batch = rules.shapes == EngineShapes::implicit_batch;
  if (rules.shapes == EngineShapes::profiles) node.profile_strategy = to_string(rules.strategy);
  node.allow_build_at_runtime = rules.build_at_run;
  return node;
}

/// A node's attributes that TF-TRT did not have.
void add_own_attributes(NodeRecord& node, const Part& part) {
  if (part.cache->rules().mode == EngineMode::fixed) node.attributes[static_attribute] = true;
  if (const auto entries = part.cache->entries(); !entries.empty())
    node.attributes[profiles_attribute] = to_json(entries);
}

std::filesystem::path plan_path(const std::filesystem::path& folder, const std::string& engine) {
  std::string name = engine;
  std::ranges::replace(name, '/', '.');
  return folder / "assets" / ("trt-serialized-engine." + name);
}

/// Writes the plan of each part that has engines, and removes what an earlier save wrote for others.
void write_plans(const ModelState& state, const std::filesystem::path& folder, bool engines) {
  for (const Part& part : state.parts) {
    if (!part.cache) continue;
    const std::filesystem::path path = plan_path(folder, part.plan.name);
    std::error_code error;
    const auto engine = engines && !part.cache->entries().empty() ? part.cache->engine() : std::nullopt;
    if (!engine) {
      std::filesystem::remove(path, error);
      continue;
    }
    std::filesystem::create_directories(path.parent_path(), error);
    check(!error, ErrorCode::io, "{}: {}", path.parent_path().string(), error.message());
    engine->save(path);
  }
}

/// References to an engine's outputs, by the value's name in the flat graph.
std::map<std::string, std::string> engine_outputs(const ModelState& state) {
  std::map<std::string, std::string> names;
  for (const Part& part : state.parts)
    if (part.plan.engine)
      for (std::size_t i = 0; i < part.plan.outputs.size(); ++i)
        names[part.plan.outputs[i]] = i == 0 ? part.plan.name : fmt::format("{}:{}", part.plan.name, i);
  return names;
}

SignatureTensor signature_tensor(const std::string& reference, const Type& type) {
  return {reference.find(':') == std::string::npos ? reference + ":0" : reference, data_type_of(type.dtype()),
          partial(type)};
}

/// The nodes that stay as they are, constants that they read included.
std::set<std::uint32_t> native_nodes(const ModelState& state) {
  std::set<std::uint32_t> natives;
  for (const Part& part : state.parts)
    if (!part.plan.engine) natives.insert(part.plan.nodes.begin(), part.plan.nodes.end());
  FlatIndex(state.division->flat.graph.nodes).add_constants(natives);
  return natives;
}

MetaGraphRecord meta_graph_of(const ModelState& state) {
  const ImportGraph& flat = state.division->flat.graph;
  const auto outputs = engine_outputs(state);
  const auto known = [&](const std::string& name) {
    const auto found = outputs.find(name);
    return found == outputs.end() ? name : found->second;
  };
  MetaGraphRecord meta;
  meta.tensorflow_version = "2.17.0"; // the last release that knew TRTEngineOp
  SignatureRecord signature;
  for (const ImportValue& input : flat.inputs) {
    meta.graph.nodes.push_back(placeholder(input.name, *input.type));
    signature.inputs[input.shown()] = signature_tensor(input.name, *input.type);
  }
  for (const std::uint32_t n : native_nodes(state)) {
    NodeRecord& record = meta.graph.nodes.emplace_back(record_of(flat.nodes[n]));
    for (std::string& input : record.inputs) input = known(input);
  }
  for (const Part& part : state.parts) {
    if (!part.plan.engine) continue;
    EngineNode engine = engine_of(state, part);
    for (std::string& input : engine.inputs) input = known(input);
    add_own_attributes(meta.graph.nodes.emplace_back(engine_node(engine)), part);
  }
  for (const ImportValue& output : flat.outputs)
    signature.outputs[output.shown()] =
        signature_tensor(known(output.name), type_of(*state.division, output.name));
  const std::string& name = state.options.build.tensorflow.signature;
  meta.signatures[name.empty() ? "serving_default" : name] = std::move(signature);
  return meta;
}

} // namespace

void write_converted(const ModelState& state, const std::filesystem::path& folder, bool engines) {
  const MetaGraphRecord meta = meta_graph_of(state);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(!error, ErrorCode::io, "{}: {}", folder.string(), error.message());
  write_plans(state, folder, engines);
  write_saved_model(folder, meta);
}

std::optional<Engine> loaded_engine(const PartPlan& plan, const std::filesystem::path& folder,
                                    const ConvertOptions& options) {
  std::error_code ignored;
  if (folder.empty() || !plan.engine) return std::nullopt;
  const std::filesystem::path path = plan_path(folder, plan.name);
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  LoadOptions load;
  load.device = options.build.device;
  load.threads = options.build.threads;
  load.limits = options.build.limits;
  load.environment = options.build.environment;
  load.control = options.build.control;
  return Engine::load(path, load);
}

} // namespace lanner::tf
