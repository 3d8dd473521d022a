#include "importers/tensorflow/variables.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "importers/protobuf.h"
#include "importers/tensorflow/bundle/slice.h"
#include "importers/tensorflow/node_references.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;
constexpr const char* object_graph_key = "_CHECKPOINTABLE_OBJECT_GRAPH";

using Nodes = std::map<std::string_view, const ImportNode*>;

Nodes by_name(const std::vector<ImportNode>& nodes) {
  Nodes map;
  for (const ImportNode& node : nodes) map.emplace(node.name, &node);
  return map;
}

const ImportNode* find(const Nodes& nodes, std::string_view reference) {
  const auto found = nodes.find(node_of(reference));
  return found == nodes.end() ? nullptr : found->second;
}

/// The result that a reference names: its last number, 0 without one.
std::size_t result_of(std::string_view reference) {
  const std::size_t colon = reference.rfind(':');
  std::size_t number = 0;
  if (colon != std::string_view::npos)
    std::from_chars(reference.data() + colon + 1, reference.data() + reference.size(), number);
  return number;
}

/// Element `i` of a constant of strings; empty where it is something else.
std::string text_at(const Nodes& nodes, std::string_view reference, std::size_t i) {
  const ImportNode* node = find(nodes, reference);
  const Tensor* tensor = node ? attribute_of<Tensor>(*node, "value") : nullptr;
  if (!tensor || tensor->dtype() != DType::string) return {};
  const auto texts = tensor->as<std::string>();
  return i < texts.size() ? texts[i] : std::string();
}

/// The source of a value that is assigned, by way of Identity nodes.
std::optional<VariableSource> restored_from(const Nodes& nodes, std::string reference) {
  constexpr int longest_way = 16;
  for (int step = 0; step < longest_way; ++step) {
    const ImportNode* node = find(nodes, reference);
    if (!node || node->inputs.empty()) return std::nullopt;
    if (node->op == "RestoreV2" && node->inputs.size() >= 3) {
      const std::size_t i = result_of(reference);
      VariableSource source{text_at(nodes, node->inputs[1], i), text_at(nodes, node->inputs[2], i)};
      if (source.key.empty()) return std::nullopt;
      return source;
    }
    if (node->op != "Identity" && node->op != "Reshape") return std::nullopt;
    reference = node->inputs[0];
  }
  return std::nullopt;
}

using Sources = std::map<std::string, VariableSource, std::less<>>;

/// Assignments of one graph or function; `variable` gives the variable's node for the name that is assigned
/// to.
template<typename Named>
void add_assignments(const std::vector<ImportNode>& nodes, Sources& sources, const Named& variable) {
  if (std::ranges::none_of(nodes, [](const ImportNode& node) { return node.op == "RestoreV2"; })) return;
  const Nodes names = by_name(nodes);
  for (const ImportNode& node : nodes) {
    check_deadline();
    if ((node.op != "Assign" && node.op != "AssignVariableOp") || node.inputs.size() < 2) continue;
    auto source = restored_from(names, node.inputs[1]);
    if (source) sources.emplace(variable(node_of(node.inputs[0])), std::move(*source));
  }
}

// --- The object graph: trackable_object_graph.proto ---

struct SerializedTensor {
  std::string name, full_name, key;
};
struct ObjectGraph {
  std::map<std::string, std::string, std::less<>> keys; ///< By full name; empty where two have one name.
};

constexpr FieldEntry tensor_fields[] = {
    field<SerializedTensor, [](SerializedTensor& r, FieldValue& v) { r.name = v.bytes(); }>(1, "name",
                                                                                            Wire::bytes),
    field<SerializedTensor, [](SerializedTensor& r, FieldValue& v) { r.full_name = v.bytes(); }>(
        2, "full_name", Wire::bytes),
    field<SerializedTensor, [](SerializedTensor& r, FieldValue& v) { r.key = v.bytes(); }>(
        3, "checkpoint_key", Wire::bytes),
};
constexpr FieldEntry object_fields[] = {
    field<ObjectGraph,
          [](ObjectGraph& r, FieldValue& v) {
            SerializedTensor tensor;
            v.message(tensor_fields, &tensor);
            if (tensor.name != "VARIABLE_VALUE" || tensor.full_name.empty()) return;
            const auto [entry, fresh] = r.keys.emplace(tensor.full_name, tensor.key);
            if (!fresh && entry->second != tensor.key) entry->second.clear();
          }>(2, "attributes", Wire::message),
};
constexpr FieldEntry object_graph_fields[] = {
    field<ObjectGraph, [](ObjectGraph& r, FieldValue& v) { v.message(object_fields, &r); }>(1, "nodes",
                                                                                            Wire::message),
};

// --- Parts ---

std::int64_t number_in(std::string_view text, std::string_view whole) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc{} && end == text.data() + text.size() && number >= 0, ErrorCode::bad_data,
        "part '{}': expected sizes and extents, like '4 10 0,2:-'",
        one_line(std::string(whole), longest_shown));
  return number;
}

/// The slice that TensorFlow's text `SIZES EXTENTS` names, such as `4 10 0,2:-`, with its lengths.
Slice parse_slice(std::string_view text, const Shape& shape) {
  Slice slice;
  const std::size_t space = text.rfind(' ');
  std::string_view extents = space == std::string_view::npos ? text : text.substr(space + 1);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const std::size_t colon = std::min(extents.find(':'), extents.size());
    const std::string_view extent = extents.substr(0, colon);
    extents.remove_prefix(std::min(colon + 1, extents.size()));
    const std::size_t comma = extent.find(',');
    const bool whole = extent == "-";
    check(whole || comma != std::string_view::npos, ErrorCode::bad_data,
          "part '{}': expected an extent for each of {} dims", one_line(std::string(text), longest_shown),
          shape.rank());
    slice.push_back(
        whole ? Extent{0, shape[d]}
              : Extent{number_in(extent.substr(0, comma), text), number_in(extent.substr(comma + 1), text)});
    check(slice[d].start <= shape[d] && slice[d].length <= shape[d] - slice[d].start, ErrorCode::bad_data,
          "part '{}': lies outside of {}", one_line(std::string(text), longest_shown), shape.to_string());
  }
  return slice;
}

Tensor part_of(const Tensor& whole, std::string_view text) {
  const Slice slice = parse_slice(text, whole.shape());
  if (shape_of(slice) == whole.shape()) return whole;
  check(whole.dtype() != DType::string, ErrorCode::unsupported, "a part of a tensor of strings");
  return take_slice(whole, slice);
}

} // namespace

std::map<std::string, VariableSource, std::less<>> restored_variables(const GraphRecord& graph) {
  Sources sources;
  add_assignments(graph.nodes, sources, [](std::string name) { return name; });
  std::map<std::string_view, const FunctionRecord*> functions;
  for (const FunctionRecord& function : graph.functions) functions.emplace(function.name, &function);
  for (const ImportNode& call : graph.nodes) {
    const auto* name = attribute_of<std::string>(call, "f");
    const auto function = name ? functions.find(*name) : functions.find(call.op);
    if (function == functions.end()) continue;
    std::map<std::string_view, std::string> arguments; // the variable's node, by the function's argument
    const auto& inputs = function->second->inputs;
    for (std::size_t i = 0; i < std::min(inputs.size(), call.inputs.size()); ++i)
      arguments.emplace(inputs[i], node_of(call.inputs[i]));
    add_assignments(function->second->nodes, sources, [&](const std::string& argument) {
      const auto found = arguments.find(argument);
      return found == arguments.end() ? std::string() : found->second;
    });
  }
  sources.erase("");
  return sources;
}

Variables::Variables(const GraphRecord& graph, std::filesystem::path prefix, const Limits& limits,
                     OnFile on_file)
    : restored_(restored_variables(graph)), prefix_(std::move(prefix)), limits_(limits),
      on_file_(std::move(on_file)) {}

const Bundle& Variables::bundle() {
  if (bundle_) return *bundle_;
  check(!prefix_.empty(), ErrorCode::unsupported,
        "variables are in a checkpoint beside the model; build it from its path, not from its bytes");
  bundle_.emplace(Bundle::open(prefix_, limits_, on_file_));
  if (bundle_->contains(object_graph_key)) {
    const std::string bytes = bundle_->read_string(object_graph_key);
    ObjectGraph objects;
    read_protobuf(std::as_bytes(std::span(bytes)), object_graph_fields, &objects, limits_);
    by_full_name_ = std::move(objects.keys);
  }
  return *bundle_;
}

const VariableSource Variables::source_of(const ImportNode& variable) {
  if (const auto found = restored_.find(variable.name); found != restored_.end()) return found->second;
  const Bundle& checkpoint = bundle();
  const auto* shared = attribute_of<std::string>(variable, "shared_name");
  for (const std::string& name : {shared ? *shared : std::string(), variable.name}) {
    if (name.empty()) continue;
    const auto key = by_full_name_.find(name);
    if (key != by_full_name_.end() && !key->second.empty()) return {key->second, {}};
    if (checkpoint.contains(name)) return {name, {}};
  }
  return {variable.name, {}};
}

Tensor Variables::read(const ImportNode& variable) {
  const VariableSource source = source_of(variable);
  Tensor value = bundle().read(source.key);
  if (!source.slice.empty()) value = part_of(value, source.slice);
  if (const auto* type = attribute_of<std::int64_t>(variable, "dtype"))
    check(dtype_of_tensorflow(*type) == value.dtype(), ErrorCode::bad_data,
          "it is declared {}, the checkpoint has {}", to_string(dtype_of_tensorflow(*type)),
          to_string(value.dtype()));
  if (const auto* shape = attribute_of<Type>(variable, "shape"); shape && shape->ranked()) {
    const bool fits = shape->rank() == value.rank() && [&] {
      for (std::size_t d = 0; d < value.rank(); ++d)
        if (shape->dims()[d].is_constant() && shape->dims()[d].value() != value.shape()[d]) return false;
      return true;
    }();
    check(fits, ErrorCode::bad_data, "it is declared {}, the checkpoint has {}", shape->to_string(),
          value.shape().to_string());
  }
  return value;
}

} // namespace lanner::tensorflow
