// Event files of a converted model's graph.

#include <chrono>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/tf_export.h>

#include "base/check.h"
#include "tf/convert/flat_index.h"
#include "tf/export/model_access.h"
#include "tf/write/engine_node.h"
#include "tf/write/event_file.h"

namespace lanner::tf {
namespace {

constexpr std::uint8_t boolean_kind = 5, type_kind = 6, function_kind = 10; ///< Fields of AttrValue.

PartialShape partial(const Type& type) {
  if (!type.is_tensor() || !type.ranked()) return {};
  std::vector<std::int64_t> dims;
  for (const Dim& dim : type.dims()) dims.push_back(dim.is_constant() ? dim.value() : -1);
  return {std::move(dims)};
}

/// Numbers, text, types and shapes; nothing for values that are large or that a page does not show.
std::optional<AttrValue> shown_value(const ImportAttribute& attribute) {
  if (attribute.kind == function_kind || attribute.kind >= ImportAttribute::list_kind) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    if (text->size() > 256) return std::nullopt;
    return AttrValue(*text);
  }
  if (const auto* real = std::get_if<double>(&attribute.value)) return AttrValue(static_cast<float>(*real));
  if (const auto* type = std::get_if<Type>(&attribute.value)) return AttrValue(partial(*type));
  const auto* number = std::get_if<std::int64_t>(&attribute.value);
  if (!number) return std::nullopt;
  if (attribute.kind == boolean_kind) return AttrValue(*number != 0);
  if (attribute.kind == type_kind) return AttrValue(static_cast<DataType>(*number));
  return AttrValue(*number);
}

/// Writes nodes of a graph; `names` has references for values that are not named after their node.
class GraphOfEvents {
public:
  GraphOfEvents(const Division& division, std::map<std::string, std::string> names)
      : division_(division), names_(std::move(names)) {}

  void add_inputs() {
    for (const ImportValue& input : division_.flat.graph.inputs) {
      NodeRecord node{input.name, "Placeholder", {}, {}, {}};
      node.attributes.emplace("dtype", data_type_of(input.type->dtype()));
      node.attributes.emplace("shape", partial(*input.type));
      graph_.nodes.push_back(std::move(node));
    }
  }

  void add(const ImportNode& node) {
    NodeRecord record{node.name, node.op, node.device, references(node.inputs), {}};
    for (const std::string& control : node.controls) record.inputs.push_back("^" + control);
    for (const auto& [name, attribute] : node.attributes)
      if (auto value = shown_value(attribute)) record.attributes.emplace(name, std::move(*value));
    std::vector<PartialShape> shapes;
    for (const std::string& output : node.outputs) {
      const auto type = division_.trial.types.find(output);
      shapes.push_back(type == division_.trial.types.end() ? PartialShape{} : partial(type->second));
    }
    if (!shapes.empty()) record.attributes.insert_or_assign("_output_shapes", std::move(shapes));
    graph_.nodes.push_back(std::move(record));
  }

  void add_engine(const PartPlan& plan) {
    EngineNode node;
    node.name = plan.name;
    node.inputs = references(plan.inputs);
    for (const std::string& input : plan.inputs) {
      node.input_types.push_back(data_type_of(type_of(division_, input).dtype()));
      node.input_shapes.push_back(partial(type_of(division_, input)));
    }
    for (const std::string& output : plan.outputs) {
      node.output_types.push_back(data_type_of(type_of(division_, output).dtype()));
      node.output_shapes.push_back(partial(type_of(division_, output)));
    }
    node.precision = plan.precision.empty() ? "FP32" : plan.precision;
    node.use_implicit_batch = false;
    NodeRecord record = engine_node(node);
    record.attributes.insert_or_assign("_output_shapes", node.output_shapes);
    record.attributes.insert_or_assign("_nodes", static_cast<std::int64_t>(plan.nodes.size()));
    graph_.nodes.push_back(std::move(record));
  }

  std::string bytes() const { return serialized(graph_); }

private:
  std::vector<std::string> references(const std::vector<std::string>& values) const {
    std::vector<std::string> made;
    for (const std::string& value : values) {
      const auto found = names_.find(value);
      made.push_back(found == names_.end() ? value : found->second);
    }
    return made;
  }

  const Division& division_;
  const std::map<std::string, std::string> names_;
  GraphRecord graph_;
};

std::string graph_before(const Division& division) {
  GraphOfEvents graph(division, {});
  graph.add_inputs();
  for (const ImportNode& node : division.flat.graph.nodes) graph.add(node);
  return graph.bytes();
}

/// Engines, native nodes, and the constants that these read.
std::string graph_after(const Division& division) {
  std::map<std::string, std::string> names;
  std::set<std::uint32_t> natives;
  for (const PartPlan& plan : division.parts) {
    if (!plan.engine) natives.insert(plan.nodes.begin(), plan.nodes.end());
    for (std::size_t i = 0; plan.engine && i < plan.outputs.size(); ++i)
      names[plan.outputs[i]] = i == 0 ? plan.name : fmt::format("{}:{}", plan.name, i);
  }
  division.index->add_constants(natives);
  GraphOfEvents graph(division, std::move(names));
  graph.add_inputs();
  for (const std::uint32_t n : natives) graph.add(division.flat.graph.nodes[n]);
  for (const PartPlan& plan : division.parts)
    if (plan.engine) graph.add_engine(plan);
  return graph.bytes();
}

void write(const std::filesystem::path& folder, const std::string& graph, double seconds) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(!error, ErrorCode::io, "{}: {}", folder.string(), error.message());
  write_graph_event_file(folder / event_file_name(seconds, "lanner"), graph, seconds);
}

} // namespace

void write_events(const Model& model, const std::filesystem::path& folder) {
  const Division& division = *ModelAccess::state(model).division;
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  with_context([&] { return fmt::format("events {}", folder.string()); },
               [&] {
                 write(folder / "before", graph_before(division), now);
                 write(folder / "after", graph_after(division), now);
               });
}

} // namespace lanner::tf
