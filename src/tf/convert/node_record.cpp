#include "tf/convert/node_record.h"

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"

namespace lanner::tf {
namespace {

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

/// Attributes that say here what a file does not.
bool is_own(std::string_view name) {
  return name.starts_with("_lanner_") || name == "lanner_reason";
}

} // namespace

PartialShape partial(const Type& type) {
  if (!type.ranked()) return {};
  std::vector<std::int64_t> dims;
  for (const Dim& dim : type.dims()) dims.push_back(dim.is_constant() ? dim.value() : -1);
  return {std::move(dims)};
}

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
  } else if (record.op == "ResourceGatherNd") {
    record.op = "GatherNd";
    rename("dtype", "Tparams");
  }
}

NodeRecord record_of(const ImportNode& node, bool with_shapes) {
  NodeRecord record{node.name, node.op, {}, node.inputs, {}};
  for (const auto& [name, attribute] : node.attributes) {
    if (is_own(name) || (name == "_output_shapes" && !with_shapes)) continue;
    if (const auto* graph = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value)) {
      check(attribute.kind == 10 && *graph, ErrorCode::unsupported,
            "node {} ({}): this control flow of TensorFlow 1 cannot be written; save the plan of "
            "Engine::build instead",
            one_line(node.name, 200), node.op);
      record.attributes.emplace(name, FunctionName{(*graph)->name});
      continue;
    }
    const auto* text = std::get_if<std::string>(&attribute.value);
    check(attribute.kind != 8 || !text, ErrorCode::unsupported, "node {} ({}): {}: {}",
          one_line(node.name, 200), node.op, name, text ? *text : "");
    if (auto value = value_of(attribute)) record.attributes.emplace(name, std::move(*value));
  }
  if (node.op == "Const") // made of a variable, it has a value alone
    if (const auto* tensor = record.attributes.contains("value")
                                 ? std::get_if<Tensor>(&record.attributes.at("value"))
                                 : nullptr)
      record.attributes.insert_or_assign("dtype", AttrValue(data_type_of(tensor->dtype())));
  return record;
}

NodeRecord placeholder(const std::string& name, const Type& type) {
  NodeRecord node{name, "Placeholder", {}, {}, {}};
  node.attributes.emplace("dtype", data_type_of(type.dtype()));
  node.attributes.emplace("shape", partial(type));
  return node;
}

} // namespace lanner::tf
