#include "importers/tensorflow/engine_nodes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;

using Names = std::set<std::string, std::less<>>;

/// `TensorRTInputPH_3` is 3; TensorFlow 1.7 to 1.12 left out the first word.
std::optional<std::size_t> number_after(std::string_view name, std::string_view stem) {
  if (name.starts_with("TensorRT")) name.remove_prefix(8);
  if (!name.starts_with(stem)) return std::nullopt;
  name.remove_prefix(stem.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

/// Names by their numbers, which must be 0, 1, 2 and so on.
std::vector<std::string> in_order(std::vector<std::pair<std::size_t, std::string>> numbered,
                                  const char* what) {
  std::ranges::sort(numbered);
  std::vector<std::string> names;
  for (auto& [number, name] : numbered) {
    check(number == names.size(), ErrorCode::bad_data, "serialized_segment: {} {} is missing", what,
          names.size());
    names.push_back(std::move(name));
  }
  return names;
}

/// The function that a serialised segment stands for. Functions that it has of its own join `made`, without
/// their messages, whose memory goes.
FunctionRecord function_of(const std::string& bytes, std::string name, Reading* reading, const Names& known,
                           std::vector<FunctionRecord>& made) {
  GraphRecord segment{reading, {}, {}, 0};
  read_graph_file(std::as_bytes(std::span(bytes)), false, segment);
  for (FunctionRecord& function : segment.functions) {
    if (known.contains(function.name)) continue;
    function.message = {};
    made.push_back(std::move(function));
  }
  FunctionRecord function{reading, std::move(name), {}, {}, {}, {}, {}};
  std::vector<std::pair<std::size_t, std::string>> inputs, outputs;
  for (ImportNode& node : segment.nodes) {
    if (const auto number = number_after(node.name, "InputPH_")) {
      inputs.emplace_back(*number, node.name);
      continue;
    }
    if (const auto number = number_after(node.name, "OutputPH_")) {
      outputs.emplace_back(*number, node.name);
      const bool returns = node.op == "_Retval" && !node.inputs.empty();
      function.results[node.name] = returns ? node.inputs[0] : node.name;
      if (returns) continue;
    }
    function.nodes.push_back(std::move(node));
  }
  function.inputs = in_order(std::move(inputs), "input");
  function.outputs = in_order(std::move(outputs), "output");
  return function;
}

/// The name of the function of the library that a node's segment is in; empty: none.
std::string segment_function(const ImportNode& node, const Names& known) {
  for (const char* name : {"segment_func", "segment_funcdef_name"})
    if (const auto* function = attribute_of<std::string>(node, name); function && known.contains(*function))
      return *function;
  const std::string usual = node.name + "_native_segment";
  return known.contains(usual) ? usual : "";
}

/// Whether bytes begin as a plan does: a safetensors file.
bool is_plan(std::string_view bytes) {
  constexpr std::size_t length = 8;
  return bytes.size() > length && bytes[length] == '{' && bytes[length - 1] == 0;
}

void replace(ImportNode& node, Names& known, std::vector<FunctionRecord>& made, Reading* reading) {
  std::string function = segment_function(node, known);
  if (function.empty()) {
    const auto* bytes = attribute_of<std::string>(node, "serialized_segment");
    const auto* is_engine = attribute_of<std::int64_t>(node, "static_engine");
    check(bytes && !bytes->empty() && !(is_engine && *is_engine != 0), ErrorCode::bad_data,
          "node {} (TRTEngineOp): has only an engine of TensorRT, not the TensorFlow nodes that it was made "
          "from; expected a function of the library or serialized_segment: convert the original model",
          one_line(node.name, longest_shown));
    function = node.name + "_native_segment";
    while (known.contains(function)) function += "_";
    FunctionRecord segment = function_of(*bytes, function, reading, known, made);
    made.push_back(std::move(segment));
    for (const FunctionRecord& each : made) known.insert(each.name);
  }
  // It is read, or TensorRT's; weights are in it. A plan of a static engine stays.
  const auto* engine = attribute_of<std::string>(node, "serialized_segment");
  if (!engine || !is_plan(*engine)) node.attributes.erase("serialized_segment");
  ImportAttribute called;
  called.value = std::move(function);
  node.op = "PartitionedCall";
  node.attributes.insert_or_assign(engine_mark, ImportAttribute{std::int64_t{1}, {}, 5});
  node.attributes.insert_or_assign("f", std::move(called));
  if (const auto types = node.attributes.find("OutT"); types != node.attributes.end())
    node.attributes.insert_or_assign("Tout", ImportAttribute(types->second));
}

} // namespace

void replace_engine_nodes(GraphRecord& graph) {
  Names known;
  for (const FunctionRecord& function : graph.functions) known.insert(function.name);
  std::vector<FunctionRecord> made;
  const auto replace_in = [&](std::vector<ImportNode>& nodes) {
    for (ImportNode& node : nodes)
      if (node.op == "TRTEngineOp") replace(node, known, made, graph.reading);
  };
  replace_in(graph.nodes);
  for (FunctionRecord& function : graph.functions) replace_in(function.nodes);
  for (FunctionRecord& function : made) graph.functions.push_back(std::move(function));
}

} // namespace lanner::tensorflow
