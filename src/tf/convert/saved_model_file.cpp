#include "tf/convert/saved_model_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/file/file.h"
#include "base/text/one_line.h"
#include "tf/convert/native_graph.h"
#include "tf/convert/node_record.h"
#include "tf/convert/segment.h"
#include "tf/segment/segmenter.h"
#include "tf/write/engine_node.h"
#include "tf/write/saved_model.h"

namespace lanner::tf {
namespace {

constexpr const char* release = "2.17.0"; // the last one of TensorFlow that knew TRTEngineOp

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
  node.is_static = part.cache->rules().mode == EngineMode::fixed;
  node.precision = precision_name(part.precision);
  node.use_calibration = part.use_calibration;
  node.calibration_data = part.cache->calibration();
  if (node.calibration_data.empty()) node.calibration_data = part.plan.calibration;
  if (node.calibration_data.empty() && node.precision == "INT8" && part.use_calibration &&
      part.cache->engine())
    node.calibration_data = CalibrationTable().to_string(); // calibrated, with nothing that INT8 stores
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

/// Whether a part's plan is in its node.
bool has_plan_inside(const ModelState& state, const Part& part) {
  return state.options.native_fallback && part.cache->rules().mode == EngineMode::fixed;
}

/// Writes the plan of each part that has engines, and removes what an earlier save wrote for others.
void write_plans(const ModelState& state, const std::filesystem::path& folder, bool engines) {
  for (const Part& part : state.parts) {
    if (!part.cache) continue;
    const std::filesystem::path path = plan_path(folder, part.plan.name);
    std::error_code error;
    const bool beside = engines && !has_plan_inside(state, part) && !part.cache->entries().empty();
    const auto engine = beside ? part.cache->engine() : std::nullopt;
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

/// An output that waits for nodes that change state. `names`: of all nodes.
std::string waiting_output(const std::string& reference, const Type& type, std::size_t number,
                           const std::vector<std::string>& effects, tensorflow::NodeNames& names,
                           GraphRecord& graph) {
  if (effects.empty()) return reference;
  std::string name = fmt::format("lanner_output_{}", number);
  while (!names.insert(name).second) name += "_"; // the model may have been converted before
  NodeRecord node{std::move(name), "Identity", {}, {reference}, {}};
  node.inputs.insert(node.inputs.end(), effects.begin(), effects.end());
  node.attributes["T"] = data_type_of(type.dtype());
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().name;
}

/// The plan of a static engine, which is in its node as TensorRT's was; empty where it was not built.
std::string plan_bytes(const Part& part, const std::filesystem::path& folder) {
  const auto engine = part.cache->entries().empty() ? std::nullopt : part.cache->engine();
  if (!engine) return {};
  std::filesystem::path path = plan_path(folder, part.plan.name);
  path = folder / (path.filename().string() + ".part");
  engine->save(path);
  const Content plan = read_all(open_path(path));
  std::string bytes(reinterpret_cast<const char*>(plan.bytes.data()), plan.bytes.size());
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return bytes;
}

/// Throws Error{unsupported} where an engine has control flow whose original a saved model cannot hold.
void check_flow(const ModelState& state) {
  const Division& division = *state.division;
  const auto flow = unsavable_flow(division);
  for (const Part& part : state.parts) {
    if (!part.plan.engine || flow.empty()) continue;
    for (const std::uint32_t n : part.plan.nodes) {
      const std::string& name = division.flat.graph.nodes[n].name;
      check(!flow.contains(name), ErrorCode::unsupported,
            "engine {} has control flow ({}) that a saved model cannot hold; convert without stand_alone to "
            "save it, "
            "or write a plan",
            part.plan.name, one_line(name, 200));
    }
  }
}

/// The signature's name in the file that was read, or as the caller says.
std::string signature_name(const ModelState& state) {
  const std::string& read = state.division->library ? state.division->library->signature : std::string();
  if (!read.empty()) return read;
  const std::string& given = state.options.build.tensorflow.signature;
  return given.empty() ? "serving_default" : given;
}

void add_outputs(const Division& division, NativeGraph& natives, SignatureRecord& signature,
                 GraphRecord& graph) {
  const std::vector<ImportValue>& outputs = division.flat.graph.outputs;
  const std::vector<std::string> effects = natives.effects();
  std::vector<std::string> references;
  for (const ImportValue& output : outputs) references.push_back(natives.reference(output.name));
  natives.add_initial();
  tensorflow::NodeNames names;
  for (const NodeRecord& node : graph.nodes) names.insert(node.name);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = type_of(division, outputs[i].name);
    const std::string reference =
        waiting_output(references[i], type, signature.outputs.size(), effects, names, graph);
    signature.outputs[outputs[i].shown()] = signature_tensor(reference, type);
  }
}

void add_inputs(const ImportGraph& flat, SignatureRecord& signature, GraphRecord& graph) {
  for (const ImportValue& input : flat.inputs) {
    graph.nodes.push_back(placeholder(input.name, *input.type));
    signature.inputs[input.shown()] = signature_tensor(input.name, *input.type);
  }
}

/// `folder`: where files may be written.
MetaGraphRecord meta_graph_of(const ModelState& state, bool engines, const std::filesystem::path& folder) {
  const Division& division = *state.division;
  const auto results = engine_outputs(state);
  MetaGraphRecord meta;
  meta.tensorflow_version = release;
  SignatureRecord signature;
  add_inputs(division.flat.graph, signature, meta.graph);
  check_flow(state);
  NativeGraph natives(division, results, meta);
  natives.add_nodes();
  for (const Part& part : state.parts) {
    if (!part.plan.engine) continue;
    EngineNode engine = engine_of(state, part);
    for (std::string& input : engine.inputs) input = natives.reference(input);
    const Limits& limits = state.options.build.limits;
    if (state.options.native_fallback)
      engine.segment_function =
          add_segment_function(division, part.plan, limits, natives.functions(), meta.graph);
    else
      engine.serialized_segment = segment_bytes(division, part.plan, limits);
    if (engines && has_plan_inside(state, part)) engine.serialized_segment = plan_bytes(part, folder);
    add_own_attributes(meta.graph.nodes.emplace_back(engine_node(engine)), part);
  }
  add_outputs(division, natives, signature, meta.graph);
  meta.signatures[signature_name(state)] = std::move(signature);
  if (division.library && !division.library->tags.empty()) meta.tags = division.library->tags;
  return meta;
}

/// Copies the files that constants of the graph name.
void copy_assets(const ModelState& state, const MetaGraphRecord& meta, const std::filesystem::path& folder) {
  for (const AssetRecord& asset : meta.assets) {
    const std::filesystem::path name = asset.file, from = state.folder / "assets" / name,
                                to = folder / "assets" / name;
    const bool inside = name.is_relative() && std::ranges::find(name, "..") == name.end();
    check(inside && !name.empty(), ErrorCode::bad_data, "asset '{}': expected a file of the folder assets",
          one_line(asset.file, 200));
    check(!state.folder.empty(), ErrorCode::unsupported,
          "asset '{}' lies beside the model; convert it from its path, not from its bytes",
          one_line(asset.file, 200));
    // A link would lead to a file that is not the model's.
    const Limits& limits = state.options.build.limits;
    const std::string relative = (std::filesystem::path("assets") / name).string();
    const Content content =
        with_context([&] { return "asset " + one_line(asset.file, 200); },
                     [&] { return read_all(open_beneath(state.folder, relative, limits), limits); });
    std::error_code error;
    if (std::filesystem::equivalent(from, to, error)) continue;
    std::filesystem::create_directories(to.parent_path(), error);
    check(!error, ErrorCode::io, "{}: {}", to.parent_path().string(), error.message());
    write_file(to, content.bytes);
  }
}

/// Whether a file begins as a plan does: a safetensors file.
bool is_plan(const std::filesystem::path& path) {
  constexpr std::streamsize length = 9;
  char start[length] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(start, length) && start[length - 2] == 0 && start[length - 1] == '{';
}

} // namespace

void write_converted(const ModelState& state, const std::filesystem::path& folder, bool engines) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  check(!error, ErrorCode::io, "{}: {}", folder.string(), error.message());
  try {
    const MetaGraphRecord meta = meta_graph_of(state, engines, folder);
    write_plans(state, folder, engines);
    copy_assets(state, meta, folder);
    write_saved_model(folder, meta);
  } catch (...) {
    if (made) std::filesystem::remove(folder, error); // Where it is empty; files stay.
    throw;
  }
}

void write_native(const ModelState& state, const std::vector<std::string>& values,
                  const std::filesystem::path& folder) {
  Division division = *state.division; // its index refers to the nodes of the state's
  for (ConvertedNode& node : division.nodes) node.engine.clear();
  division.flat.graph.outputs.clear();
  for (const std::string& value : values) division.flat.graph.outputs.push_back({value, {}, {}});
  MetaGraphRecord meta;
  meta.tensorflow_version = release;
  SignatureRecord signature;
  add_inputs(division.flat.graph, signature, meta.graph);
  const std::map<std::string, std::string> no_engines;
  NativeGraph natives(division, no_engines, meta);
  natives.add_nodes();
  add_outputs(division, natives, signature, meta.graph);
  meta.signatures["calibration"] = std::move(signature);
  copy_assets(state, meta, folder);
  write_saved_model(folder, meta);
}

std::optional<Engine> loaded_engine(const PartPlan& plan, const std::string* inside,
                                    const std::filesystem::path& folder, const ConvertOptions& options) {
  if (!plan.engine) return std::nullopt;
  SourcePtr source;
  if (inside) {
    const auto owner = std::make_shared<const std::string>(*inside);
    source = open_bytes(std::as_bytes(std::span(*owner)), owner);
  } else {
    if (folder.empty()) return std::nullopt;
    std::error_code ignored;
    std::filesystem::path path = plan_path(folder, plan.name);
    // Files that go with a function of TensorFlow 2 have the name without the scope of the node. Those that
    // TF-TRT wrote are TensorRT's.
    if (!std::filesystem::exists(path, ignored)) {
      path = plan_path(folder, plan.name.substr(plan.name.rfind('/') + 1));
      if (!is_plan(path)) return std::nullopt;
    }
    source = open_path(path);
  }
  LoadOptions load;
  load.device = options.build.device;
  load.threads = options.build.threads;
  load.limits = options.build.limits;
  load.environment = options.build.environment;
  load.control = options.build.control;
  return Engine::load(source, load);
}

} // namespace lanner::tf
