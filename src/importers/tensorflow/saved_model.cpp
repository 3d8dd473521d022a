#include "importers/tensorflow/saved_model.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include <lanner/error.h>
#include <lanner/nearest.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"
#include "graph/op.h"
#include "importers/protobuf.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/node_outputs.h"
#include "importers/tensorflow/node_references.h"
#include "importers/tensorflow/state.h"
#include "importers/tensorflow/variables.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;

struct TensorInfo {
  std::string tensor; ///< Empty for one of several tensors: sparse or composite.
  std::int64_t data_type = 0;
  std::optional<Type> shape;
};
using TensorInfos = std::map<std::string, TensorInfo>;
struct NamedInfo {
  std::string name;
  TensorInfo info;
};
struct Signature {
  TensorInfos inputs, outputs;
};
struct NamedSignature {
  std::string name;
  Signature signature;
};
struct MetaGraph {
  Reading* reading;
  std::vector<std::string> tags;
  GraphRecord graph;
  std::map<std::string, Signature> signatures;
  std::vector<OperatorRecord> operators;
  std::map<std::string, std::vector<std::string>> collections; ///< Those of names of nodes.
  std::vector<AssetFile> assets;
};
struct Collection {
  std::string name;
  std::vector<std::string> nodes;
};
struct SavedModel {
  Reading* reading;
  std::int64_t version = 0;
  std::deque<MetaGraph> graphs;
};

std::string text(FieldValue& value) {
  return std::string(value.bytes());
}

constexpr FieldEntry info_fields[] = {
    field<TensorInfo, [](TensorInfo& r, FieldValue& v) { r.tensor = text(v); }>(1, "name", Wire::bytes),
    field<TensorInfo, [](TensorInfo& r, FieldValue& v) { r.data_type = read_data_type(v); }>(2, "dtype",
                                                                                             Wire::varint),
    field<TensorInfo, [](TensorInfo& r, FieldValue& v) { r.shape = read_shape(v); }>(3, "tensor_shape",
                                                                                     Wire::message),
};
constexpr FieldEntry named_info_fields[] = {
    field<NamedInfo, [](NamedInfo& r, FieldValue& v) { r.name = text(v); }>(1, "key", Wire::bytes),
    field<NamedInfo, [](NamedInfo& r, FieldValue& v) { v.message(info_fields, &r.info); }>(2, "value",
                                                                                           Wire::message),
};

void add_info(TensorInfos& infos, FieldValue& value) {
  NamedInfo named;
  value.message(named_info_fields, &named);
  infos.insert_or_assign(std::move(named.name), std::move(named.info));
}

constexpr FieldEntry signature_fields[] = {
    field<Signature, [](Signature& r, FieldValue& v) { add_info(r.inputs, v); }>(1, "inputs", Wire::message),
    field<Signature, [](Signature& r, FieldValue& v) { add_info(r.outputs, v); }>(2, "outputs",
                                                                                  Wire::message),
};
constexpr FieldEntry named_signature_fields[] = {
    field<NamedSignature, [](NamedSignature& r, FieldValue& v) { r.name = text(v); }>(1, "key", Wire::bytes),
    field<NamedSignature,
          [](NamedSignature& r, FieldValue& v) { v.message(signature_fields, &r.signature); }>(2, "value",
                                                                                               Wire::message),
};
constexpr FieldEntry node_list_fields[] = {
    field<Collection, [](Collection& r, FieldValue& v) { r.nodes.push_back(text(v)); }>(1, "value",
                                                                                        Wire::bytes),
};
constexpr FieldEntry collection_value_fields[] = {
    field<Collection, [](Collection& r, FieldValue& v) { v.message(node_list_fields, &r); }>(1, "node_list",
                                                                                             Wire::message),
};
constexpr FieldEntry collection_fields[] = {
    field<Collection, [](Collection& r, FieldValue& v) { r.name = text(v); }>(1, "key", Wire::bytes),
    field<Collection, [](Collection& r, FieldValue& v) { v.message(collection_value_fields, &r); }>(
        2, "value", Wire::message),
};
constexpr FieldEntry asset_tensor_fields[] = {
    field<AssetFile, [](AssetFile& r, FieldValue& v) { r.tensor = text(v); }>(1, "name", Wire::bytes),
};
constexpr FieldEntry asset_fields[] = {
    field<AssetFile, [](AssetFile& r, FieldValue& v) { v.message(asset_tensor_fields, &r); }>(
        1, "tensor_info", Wire::message),
    field<AssetFile, [](AssetFile& r, FieldValue& v) { r.file = text(v); }>(2, "filename", Wire::bytes),
};
constexpr FieldEntry meta_info_fields[] = {
    field<MetaGraph, [](MetaGraph& r, FieldValue& v) { r.operators = read_operators(v); }>(
        2, "stripped_op_list", Wire::message),
    field<MetaGraph, [](MetaGraph& r, FieldValue& v) { r.tags.push_back(text(v)); }>(4, "tags", Wire::bytes),
};
constexpr FieldEntry meta_graph_fields[] = {
    field<MetaGraph, [](MetaGraph& r, FieldValue& v) { v.message(meta_info_fields, &r); }>(1, "meta_info_def",
                                                                                           Wire::message),
    field<MetaGraph, [](MetaGraph& r, FieldValue& v) { read_graph(v, r.graph); }>(2, "graph_def",
                                                                                  Wire::message),
    field<MetaGraph,
          [](MetaGraph& r, FieldValue& v) {
            NamedSignature named;
            v.message(named_signature_fields, &named);
            r.signatures.insert_or_assign(std::move(named.name), std::move(named.signature));
          }>(5, "signature_def", Wire::message),
    field<MetaGraph,
          [](MetaGraph& r, FieldValue& v) {
            Collection collection;
            v.message(collection_fields, &collection);
            r.collections.insert_or_assign(std::move(collection.name), std::move(collection.nodes));
          }>(4, "collection_def", Wire::message),
    field<MetaGraph, [](MetaGraph& r, FieldValue& v) { v.message(asset_fields, &r.assets.emplace_back()); }>(
        6, "asset_file_def", Wire::message),
};
constexpr FieldEntry saved_model_fields[] = {
    field<SavedModel, [](SavedModel& r, FieldValue& v) { r.version = v.integer(); }>(
        1, "saved_model_schema_version", Wire::varint),
    field<SavedModel,
          [](SavedModel& r, FieldValue& v) {
            constexpr std::size_t most = 64;
            check(r.graphs.size() < most, ErrorCode::limit_exceeded, "more than {} graphs", most);
            r.graphs.push_back({r.reading, {}, {r.reading, {}, {}, 0}, {}, {}, {}, {}});
            v.message(meta_graph_fields, &r.graphs.back());
          }>(2, "meta_graphs", Wire::message),
};

// --- What to read ---

std::string tags_text(const std::vector<std::string>& tags) {
  return "{" + one_line(joined(tags, ", "), longest_shown) + "}";
}

MetaGraph& chosen_graph(SavedModel& model, const std::vector<std::string>& given) {
  check(!model.graphs.empty(), ErrorCode::bad_data, "the SavedModel has no graph");
  std::string known;
  for (const MetaGraph& graph : model.graphs) known += (known.empty() ? "" : ", ") + tags_text(graph.tags);
  const auto has = [](std::vector<std::string> tags, std::vector<std::string> wanted) {
    std::ranges::sort(tags);
    std::ranges::sort(wanted);
    return tags == wanted;
  };
  for (MetaGraph& graph : model.graphs)
    if (has(graph.tags, given.empty() ? std::vector<std::string>{"serve"} : given)) return graph;
  check(given.empty(), ErrorCode::not_found, "tags: no graph has the tags {}; those of the model have {}",
        tags_text(given), known);
  check(model.graphs.size() == 1, ErrorCode::invalid_argument,
        "the SavedModel has {} graphs, none with the tag serve alone; name the tags of one: {}",
        model.graphs.size(), known);
  return model.graphs.front();
}

bool is_for_callers(const std::string& name, const Signature& signature) {
  return !name.starts_with("__saved_model_") && !signature.outputs.empty();
}

using SignatureEntry = std::pair<const std::string, Signature>;

const SignatureEntry& chosen_signature(const MetaGraph& graph, const std::string& given) {
  std::vector<std::string> known;
  for (const auto& [name, signature] : graph.signatures)
    if (is_for_callers(name, signature)) known.push_back(name);
  check(!known.empty(), ErrorCode::bad_data,
        "the SavedModel has no signature with outputs; save it with one: tf.saved_model.save(model, folder, "
        "signatures=...)");
  const std::string wanted = !given.empty() ? given : known.size() == 1 ? known[0] : "serving_default";
  const auto found = graph.signatures.find(wanted);
  if (found != graph.signatures.end() && is_for_callers(wanted, found->second)) return *found;
  const std::string list = one_line(joined(known, ", "), longest_shown);
  check(!given.empty(), ErrorCode::invalid_argument,
        "the SavedModel has {} signatures and no serving_default; name one: {}", known.size(), list);
  fail(ErrorCode::not_found, "signature: the model has none named '{}'{}; its signatures are {}",
       one_line(given, longest_shown), did_you_mean(given, known), list);
}

ImportValue value_of(const std::string& label, const TensorInfo& info, const char* what) {
  check(!info.tensor.empty(), ErrorCode::unsupported,
        "{} '{}' is a sparse, ragged or other composite tensor; expected a signature of plain tensors", what,
        one_line(label, longest_shown));
  const DType type = dtype_of_tensorflow(info.data_type);
  return {info.tensor, info.shape ? info.shape->with_dtype(type) : Type::unranked(type), label};
}

GraphEnds ends_of(const Signature& signature) {
  GraphEnds ends;
  for (const auto& [label, info] : signature.inputs) ends.inputs.push_back(value_of(label, info, "input"));
  for (const auto& [label, info] : signature.outputs) ends.outputs.push_back(value_of(label, info, "output"));
  return ends;
}

/// The text format of a file whose first field is this one.
bool is_text(std::span<const std::byte> bytes, std::initializer_list<std::string_view> known) {
  const std::vector<std::string> names = leading_fields(bytes, 4);
  return !names.empty() && std::ranges::find(known, names.front()) != known.end();
}
bool is_saved_model_text(std::span<const std::byte> bytes) {
  return is_text(bytes, {"saved_model_schema_version", "meta_graphs"});
}
bool is_meta_graph_text(std::span<const std::byte> bytes) {
  return is_text(bytes, {"meta_info_def", "graph_def"});
}

template<typename Record>
void read_file(const Content& content, bool as_text, std::span<const FieldEntry> fields, Record& record,
               const Limits& limits) {
  as_text ? read_protobuf_text(content.bytes, fields, &record, limits)
          : read_protobuf(content.bytes, fields, &record, limits);
}

/// A folder in which `prefix` is; empty where the folder is not known.
std::filesystem::path beside(const ImportOptions& options, const std::filesystem::path& prefix) {
  return options.folder.empty() ? std::filesystem::path() : options.folder / prefix;
}

/// Tells nodes whose operator has no rule what their results are; operators of the user's get the attributes
/// of the file alone.
void describe_operators(MetaGraph& graph, const ImportOptions& options) {
  std::map<std::string_view, const OperatorRecord*> known;
  for (const OperatorRecord& record : graph.operators) known.emplace(record.name, &record);
  const auto describe = [&](std::vector<ImportNode>& nodes) {
    for (ImportNode& node : nodes) {
      const auto found = known.find(node.op);
      if (found == known.end() || options.ops.find("tf." + node.op)) continue;
      if (found->second->stateful)
        node.attributes.emplace(stateful_attribute, ImportAttribute{std::int64_t{1}, {}, 0});
      if (!knows_results(node.op))
        node.attributes.emplace(results_attribute, ImportAttribute{found->second->results, {}, 0});
    }
  };
  describe(graph.graph.nodes);
  for (FunctionRecord& function : graph.graph.functions) describe(function.nodes);
}

/// The nodes that TensorFlow runs when it loads the model.
std::vector<std::string> initial_nodes(const MetaGraph& graph) {
  if (const auto found = graph.signatures.find("__saved_model_init_op"); found != graph.signatures.end())
    for (const auto& [label, info] : found->second.outputs)
      if (!info.tensor.empty()) return {info.tensor};
  for (const char* name : {"saved_model_main_op", "legacy_init_op"})
    if (const auto found = graph.collections.find(name); found != graph.collections.end())
      return found->second;
  return {};
}

/// Values that constants of the graph give to variables, as a converted model has them, by the variable's
/// name.
std::map<std::string, Tensor> values_in_graph(const GraphRecord& graph) {
  std::map<std::string_view, const Tensor*> constants;
  for (const ImportNode& node : graph.nodes)
    if (const auto* value = attribute_of<Tensor>(node, "value"); value && node.op == "Const")
      constants.emplace(node.name, value);
  std::map<std::string, Tensor> values;
  for (const ImportNode& node : graph.nodes) {
    if (!node.name.ends_with(assignment_suffix) || node.inputs.size() < 2) continue;
    const auto value = constants.find(node_of(node.inputs[1]));
    if (value != constants.end()) values.emplace(node_of(node.inputs[0]), *value->second);
  }
  return values;
}

ImportModel frozen(MetaGraph& graph, const GraphEnds& ends, const std::filesystem::path& prefix,
                   const ImportOptions& options, SourceLibrary* library) {
  describe_operators(graph, options);
  drop_shapes(graph.graph, options.ops);
  Variables variables(graph.graph, prefix, options.limits, options.on_data_file);
  if (library) {
    library->assets = graph.assets;
    library->tags = graph.tags;
  }
  const auto values = values_in_graph(graph.graph);
  const auto read = [&](const ImportNode& node) {
    const auto known = values.find(node.name);
    return known == values.end() ? variables.read(node) : known->second;
  };
  return model_of(graph.graph, &ends, read, library, initial_nodes(graph));
}

// --- Binary files by their first fields ---

using Reader = protozero::pbf_reader;

/// MetaInfoDef holds a list of operators and TensorFlow's version where a node has its operator and
/// attributes.
bool is_meta_info(Reader record) {
  for (int i = 0; i < 16 && record.next(); ++i) {
    if (record.wire_type() != protozero::pbf_wire_type::length_delimited) {
      record.skip();
      continue;
    }
    const std::uint32_t number = record.tag();
    const auto bytes = record.get_view();
    if (number == 2 && bytes.size() > 0 && bytes.data()[0] == '\n') return true;
    if (number == 5 && bytes.size() > 0 && bytes.data()[0] >= '0' && bytes.data()[0] <= '9') return true;
  }
  return false;
}

bool is_meta_graph(Reader record) {
  return record.next(1, protozero::pbf_wire_type::length_delimited) && is_meta_info(record.get_message());
}

/// A format version, then MetaGraphs; an ONNX model has its producer there, then a graph.
bool is_saved_model(Reader record) {
  bool graphs = false;
  while (record.next()) {
    if (record.tag() == 1 && record.wire_type() == protozero::pbf_wire_type::varint) {
      record.skip();
      continue;
    }
    if (record.tag() != 2 || record.wire_type() != protozero::pbf_wire_type::length_delimited) return false;
    if (!is_meta_graph(record.get_message())) return false;
    graphs = true;
  }
  return graphs;
}

template<typename Test>
bool holds(std::span<const std::byte> bytes, Test test) {
  try {
    return test(Reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const protozero::exception&) {
    return false; // not protobuf
  }
}

} // namespace

bool looks_like_saved_model(std::span<const std::byte> bytes) {
  return holds(bytes, is_saved_model) || is_saved_model_text(bytes);
}

bool looks_like_meta_graph(std::span<const std::byte> bytes) {
  return holds(bytes, is_meta_graph) || is_meta_graph_text(bytes);
}

ImportModel read_saved_model(const Content& content, const ImportOptions& options, SourceLibrary* library) {
  Reading reading{TensorReader(content, options.limits), options.limits, 0};
  SavedModel model{&reading, 0, {}};
  reading.text = is_saved_model_text(content.bytes);
  read_file(content, reading.text, saved_model_fields, model, options.limits);
  if (library) library->owners.push_back(content.owner);
  MetaGraph& graph = chosen_graph(model, options.tensorflow.tags);
  const auto& [name, signature] = chosen_signature(graph, options.tensorflow.signature);
  if (library) library->signature = name;
  const GraphEnds ends = ends_of(signature);
  return frozen(graph, ends, beside(options, "variables/variables"), options, library);
}

ImportModel read_meta_graph(const Content& content, const ImportOptions& options, SourceLibrary* library) {
  Reading reading{TensorReader(content, options.limits), options.limits, 0};
  MetaGraph graph{&reading, {}, {&reading, {}, {}, 0}, {}, {}, {}, {}};
  reading.text = is_meta_graph_text(content.bytes);
  read_file(content, reading.text, meta_graph_fields, graph, options.limits);
  if (library) library->owners.push_back(content.owner);
  const bool has_signature = std::ranges::any_of(
      graph.signatures, [](const auto& each) { return is_for_callers(each.first, each.second); });
  GraphEnds ends;
  if (has_signature && options.outputs.empty()) {
    const auto& [name, signature] = chosen_signature(graph, options.tensorflow.signature);
    if (library) library->signature = name;
    ends = ends_of(signature);
  } else {
    check(!options.outputs.empty(), ErrorCode::invalid_argument,
          "the MetaGraph has no signature that says what its outputs are; name them as outputs");
    for (const std::string& output : options.outputs) ends.outputs.push_back({output, {}, output});
  }
  std::filesystem::path prefix = std::filesystem::path(options.name).filename();
  if (prefix.extension() == ".meta") prefix.replace_extension();
  return frozen(graph, ends, beside(options, prefix), options, library);
}

} // namespace lanner::tensorflow
