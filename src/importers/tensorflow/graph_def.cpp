#include "importers/tensorflow/graph_def.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/text/one_line.h"
#include "importers/protobuf.h"
#include "importers/tensorflow/node_outputs.h"
#include "importers/tensorflow/node_references.h"
#include "importers/tensorflow/tensor_record.h"

namespace lanner::tensorflow {
namespace {

using Attributes = std::map<std::string, ImportAttribute, std::less<>>;

/// State shared by the readers of all messages.
struct Reading {
  TensorReader tensors;
  const Limits& limits;
  std::uint64_t nodes = 0;
};

// Messages as they are read; those that contain tensors have a pointer to the Reading.
struct ShapeRecord {
  Dims dims;
  std::int64_t size = 0;
  bool unknown_rank = false;
};
struct ListRecord {
  Reading* reading;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;
};
struct AttributeRecord {
  Reading* reading;
  std::string key;
  ImportAttribute attribute;
};
struct NodeRecord {
  Reading* reading;
  ImportNode node;
};
struct FunctionRecord {
  Reading* reading;
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::string, std::less<>> results; ///< The tensor of each output.
  std::vector<ImportNode> nodes;
};
struct PairRecord {
  std::string key, value;
};
struct GraphRecord {
  Reading* reading;
  std::vector<ImportNode> nodes;
  std::vector<FunctionRecord> functions;
  std::int64_t producer = 0;
};

std::string text(FieldValue& value) {
  return std::string(value.bytes());
}

constexpr EnumName data_types[] = {
    {"DT_FLOAT", 1},    {"DT_DOUBLE", 2},  {"DT_INT32", 3},       {"DT_UINT8", 4},     {"DT_INT16", 5},
    {"DT_INT8", 6},     {"DT_STRING", 7},  {"DT_COMPLEX64", 8},   {"DT_INT64", 9},     {"DT_BOOL", 10},
    {"DT_QINT8", 11},   {"DT_QUINT8", 12}, {"DT_QINT32", 13},     {"DT_BFLOAT16", 14}, {"DT_QINT16", 15},
    {"DT_QUINT16", 16}, {"DT_UINT16", 17}, {"DT_COMPLEX128", 18}, {"DT_HALF", 19},     {"DT_RESOURCE", 20},
    {"DT_VARIANT", 21}, {"DT_UINT32", 22}, {"DT_UINT64", 23}};

constexpr FieldEntry dim_fields[] = {
    field<ShapeRecord, [](ShapeRecord& r, FieldValue& v) { r.size = v.integer(); }>(1, "size", Wire::varint),
};
/// An unknown dim is the symbol `unknown__i`, which is renamed when the value is declared.
constexpr FieldEntry shape_fields[] = {
    field<ShapeRecord,
          [](ShapeRecord& r, FieldValue& v) {
            r.size = 0;
            v.message(dim_fields, &r);
            check(r.size >= -1, ErrorCode::bad_data, "a shape has the negative size {}", r.size);
            check_rank(r.dims.size() + 1, "a shape");
            r.dims.push_back(r.size >= 0 ? Dim(r.size)
                                         : Dim::symbol(fmt::format("unknown__{}", r.dims.size())));
          }>(2, "dim", Wire::message),
    field<ShapeRecord, [](ShapeRecord& r, FieldValue& v) { r.unknown_rank = v.integer() != 0; }>(
        3, "unknown_rank", Wire::varint),
};

template<auto set>
constexpr FieldEntry tensor_field(std::uint32_t number, const char* name, Wire wire) {
  return field<TensorRecord, set>(number, name, wire);
}
constexpr auto add_real = [](TensorRecord& r, FieldValue& v) { r.reals.push_back(v.real()); };
constexpr auto add_integer = [](TensorRecord& r, FieldValue& v) { r.integers.push_back(v.integer()); };

constexpr FieldEntry tensor_fields[] = {
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.data_type = v.enumerator(data_types); }>(
        1, "dtype", Wire::varint),
    field<TensorRecord,
          [](TensorRecord& r, FieldValue& v) {
            ShapeRecord shape;
            v.message(shape_fields, &shape);
            r.dims = std::move(shape.dims);
          }>(2, "tensor_shape", Wire::message),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.content = v.bytes(); }>(4, "tensor_content",
                                                                                       Wire::bytes),
    tensor_field<add_real>(5, "float_val", Wire::fixed32),
    tensor_field<add_real>(6, "double_val", Wire::fixed64),
    tensor_field<add_integer>(7, "int_val", Wire::varint),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.strings.push_back(text(v)); }>(8, "string_val",
                                                                                              Wire::bytes),
    tensor_field<add_integer>(10, "int64_val", Wire::varint),
    tensor_field<add_integer>(11, "bool_val", Wire::varint),
    tensor_field<add_integer>(13, "half_val", Wire::varint),
    tensor_field<add_integer>(16, "uint32_val", Wire::varint),
    tensor_field<add_integer>(17, "uint64_val", Wire::varint),
};

struct NamedFunction {
  std::string name;
};
constexpr FieldEntry named_function_fields[] = {
    field<NamedFunction, [](NamedFunction& r, FieldValue& v) { r.name = text(v); }>(1, "name", Wire::bytes),
};
std::string function_name(FieldValue& value) {
  NamedFunction record;
  value.message(named_function_fields, &record);
  return std::move(record.name);
}

constexpr auto add_list_integer = [](ListRecord& r, FieldValue& v) { r.integers.push_back(v.integer()); };
constexpr FieldEntry list_fields[] = {
    field<ListRecord, [](ListRecord& r, FieldValue& v) { r.strings.push_back(text(v)); }>(2, "s",
                                                                                          Wire::bytes),
    field<ListRecord, add_list_integer>(3, "i", Wire::varint),
    field<ListRecord, [](ListRecord& r, FieldValue& v) { r.reals.push_back(v.real()); }>(4, "f",
                                                                                         Wire::fixed32),
    field<ListRecord, add_list_integer>(5, "b", Wire::varint),
    field<ListRecord, [](ListRecord& r, FieldValue& v) { r.integers.push_back(v.enumerator(data_types)); }>(
        6, "type", Wire::varint),
    field<ListRecord, [](ListRecord& r, FieldValue& v) { r.strings.push_back(function_name(v)); }>(
        9, "func", Wire::message),
};

ImportAttribute::Value list_value(ListRecord& record) {
  if (!record.strings.empty()) return std::move(record.strings);
  if (!record.reals.empty()) return std::move(record.reals);
  return std::move(record.integers);
}

constexpr FieldEntry value_fields[] = {
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) {
            ListRecord list{r.reading, {}, {}, {}};
            v.message(list_fields, &list);
            r.attribute.value = list_value(list);
          }>(1, "list", Wire::message),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.attribute.value = text(v); }>(
        2, "s", Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.attribute.value = v.integer(); }>(
        3, "i", Wire::varint),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.attribute.value = v.real(); }>(
        4, "f", Wire::fixed32),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.attribute.value = v.integer(); }>(
        5, "b", Wire::varint),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) { r.attribute.value = v.enumerator(data_types); }>(
        6, "type", Wire::varint),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) {
            ShapeRecord shape;
            v.message(shape_fields, &shape);
            r.attribute.value =
                shape.unknown_rank ? Type::unranked(DType::f32) : Type(DType::f32, std::move(shape.dims));
          }>(7, "shape", Wire::message),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) {
            TensorRecord tensor;
            v.message(tensor_fields, &tensor);
            r.attribute.value = r.reading->tensors.make(tensor);
          }>(8, "tensor", Wire::message),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.attribute.reference = text(v); }>(
        9, "placeholder", Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.attribute.value = function_name(v); }>(
        10, "func", Wire::message),
};

constexpr FieldEntry attribute_fields[] = {
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.key = text(v); }>(1, "key", Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { v.message(value_fields, &r); }>(
        2, "value", Wire::message),
};

constexpr FieldEntry node_fields[] = {
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.name = text(v); }>(1, "name", Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.op = text(v); }>(2, "op", Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.inputs.push_back(text(v)); }>(3, "input",
                                                                                              Wire::bytes),
    field<NodeRecord,
          [](NodeRecord& r, FieldValue& v) {
            AttributeRecord record{r.reading, {}, {}};
            v.message(attribute_fields, &record);
            // TensorFlow's own run-time annotations do not affect the result.
            if (record.key.starts_with("_")) return;
            r.node.attributes.insert_or_assign(std::move(record.key), std::move(record.attribute));
          }>(5, "attr", Wire::message),
};

ImportNode read_node(FieldValue& value, Reading* reading) {
  ++reading->nodes;
  check_limit("nodes", reading->nodes, reading->limits.nodes, "{} nodes", reading->nodes);
  NodeRecord record{reading, {}};
  with_context([&] { return fmt::format("node '{}'", record.node.name); },
               [&] { value.message(node_fields, &record); });
  return std::move(record.node);
}

constexpr FieldEntry argument_fields[] = {
    field<PairRecord, [](PairRecord& r, FieldValue& v) { r.key = text(v); }>(1, "name", Wire::bytes),
};
std::string argument_name(FieldValue& value) {
  PairRecord record;
  value.message(argument_fields, &record);
  return std::move(record.key);
}

constexpr FieldEntry signature_fields[] = {
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.name = text(v); }>(1, "name", Wire::bytes),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.inputs.push_back(argument_name(v)); }>(
        2, "input_arg", Wire::message),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.outputs.push_back(argument_name(v)); }>(
        3, "output_arg", Wire::message),
};
constexpr FieldEntry pair_fields[] = {
    field<PairRecord, [](PairRecord& r, FieldValue& v) { r.key = text(v); }>(1, "key", Wire::bytes),
    field<PairRecord, [](PairRecord& r, FieldValue& v) { r.value = text(v); }>(2, "value", Wire::bytes),
};
constexpr FieldEntry function_fields[] = {
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { v.message(signature_fields, &r); }>(
        1, "signature", Wire::message),
    field<FunctionRecord,
          [](FunctionRecord& r, FieldValue& v) { r.nodes.push_back(read_node(v, r.reading)); }>(
        3, "node_def", Wire::message),
    field<FunctionRecord,
          [](FunctionRecord& r, FieldValue& v) {
            PairRecord pair;
            v.message(pair_fields, &pair);
            r.results.insert_or_assign(std::move(pair.key), std::move(pair.value));
          }>(4, "ret", Wire::message),
};
constexpr FieldEntry library_fields[] = {
    field<GraphRecord,
          [](GraphRecord& r, FieldValue& v) {
            FunctionRecord& function = r.functions.emplace_back();
            function.reading = r.reading;
            v.message(function_fields, &function);
          }>(1, "function", Wire::message),
};
constexpr FieldEntry version_fields[] = {
    field<GraphRecord, [](GraphRecord& r, FieldValue& v) { r.producer = v.integer(); }>(1, "producer",
                                                                                        Wire::varint),
};

constexpr FieldEntry graph_fields[] = {
    field<GraphRecord, [](GraphRecord& r, FieldValue& v) { r.nodes.push_back(read_node(v, r.reading)); }>(
        1, "node", Wire::message),
    field<GraphRecord, [](GraphRecord& r, FieldValue& v) { v.message(library_fields, &r); }>(2, "library",
                                                                                             Wire::message),
    field<GraphRecord, [](GraphRecord& r, FieldValue& v) { v.message(version_fields, &r); }>(4, "versions",
                                                                                             Wire::message),
};

constexpr std::size_t longest_name = 200;

bool is_placeholder(const ImportNode& node) {
  return node.op == "Placeholder" || node.op == "PlaceholderV2";
}

/// Nodes that are not outputs, though nothing reads them.
bool gives_nothing(const ImportNode& node) {
  static const std::set<std::string, std::less<>> silent{"Const", "NoOp", "Assert", "Placeholder",
                                                         "PlaceholderV2"};
  return silent.contains(node.op);
}

Type placeholder_type(const ImportNode& node, std::int64_t producer) {
  const auto dtype = node.attributes.find("dtype"), shape = node.attributes.find("shape");
  const auto* number =
      dtype == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&dtype->second.value);
  check(number != nullptr, ErrorCode::bad_data, "placeholder {}: attribute dtype is missing", node.name);
  const DType type = dtype_of_tensorflow(*number);
  const Type* dims = shape == node.attributes.end() ? nullptr : std::get_if<Type>(&shape->second.value);
  // Before this version a shape without dims meant an unknown shape.
  constexpr std::int64_t first_with_scalars = 24;
  if (!dims || !dims->ranked() || (dims->rank() == 0 && producer < first_with_scalars))
    return Type::unranked(type);
  return dims->with_dtype(type);
}

bool is_open(const Dim& dim) {
  const auto symbol = dim.as_symbol();
  return symbol && symbol->starts_with("unknown__");
}

/// The first dim of the only input that leaves it open is the batch; of several inputs each gets its own
/// symbol.
void name_batch(std::vector<ImportValue>& inputs) {
  ImportValue* only = nullptr;
  for (ImportValue& input : inputs) {
    if (!input.type->ranked() || input.type->rank() == 0 || !is_open(input.type->dims()[0])) continue;
    if (only) return;
    only = &input;
  }
  if (!only) return;
  Dims dims = only->type->dims();
  dims[0] = Dim::symbol("batch");
  only->type = only->type->with_dims(std::move(dims));
}

FunctionOutputs outputs_of(const std::vector<FunctionRecord>& records) {
  FunctionOutputs outputs;
  for (const FunctionRecord& record : records) {
    auto& numbers = outputs[record.name];
    numbers.clear(); // of two nodes with the same name the last one counts
    for (std::size_t i = 0; i < record.outputs.size(); ++i)
      numbers.emplace(record.outputs[i], static_cast<std::int64_t>(i));
  }
  return outputs;
}

std::map<std::string, ImportFunction> functions_of(std::vector<FunctionRecord>& records,
                                                   const FunctionOutputs& outputs) {
  std::map<std::string, ImportFunction> functions;
  for (FunctionRecord& record : records) {
    ImportFunction function;
    std::vector<std::string> results;
    for (const std::string& name : record.outputs) {
      const auto found = record.results.find(name);
      check(found != record.results.end(), ErrorCode::bad_data, "function {}: output {} has no entry in ret",
            record.name, name);
      results.push_back(found->second);
    }
    References references(outputs, References::Form::in_function);
    function.outputs = references.resolve(record.nodes, std::move(results));
    function.inputs = std::move(record.inputs);
    function.nodes = std::move(record.nodes);
    functions.insert_or_assign(std::string(function_domain) + "." + record.name, std::move(function));
  }
  return functions;
}

void require_own_names(const std::vector<ImportNode>& nodes) {
  std::set<std::string_view> names;
  for (const ImportNode& node : nodes)
    check(names.insert(node.name).second, ErrorCode::bad_data, "two nodes are named '{}'",
          one_line(node.name, longest_name));
}

/// Every result that nothing reads is an output, named after its node.
void require_short_names(const ImportNode& node, std::int64_t results) {
  constexpr std::uint64_t most = 1u << 20;
  const std::uint64_t bytes = static_cast<std::uint64_t>(results) * node.name.size();
  check(results == 1 || bytes <= most, ErrorCode::limit_exceeded,
        "node '{}': the names of its {} results take {} bytes, expected at most {}; give it a shorter name",
        one_line(node.name, longest_name), results, bytes, most);
}

ImportModel model_of(GraphRecord& record) {
  ImportModel model;
  model.dtype_of = dtype_of_tensorflow;
  const FunctionOutputs functions = outputs_of(record.functions);

  require_own_names(record.nodes);
  std::set<std::string, std::less<>> read;
  for (const ImportNode& node : record.nodes)
    for (const std::string& input : node.inputs) read.insert(node_of(input));
  std::vector<std::string> results;
  for (const ImportNode& node : record.nodes)
    if (!read.contains(node.name) && !gives_nothing(node)) {
      const std::int64_t shown = shown_outputs(node);
      require_short_names(node, shown);
      count_bytes(static_cast<std::uint64_t>(shown) * (sizeof(std::string) + node.name.size()));
      for (std::int64_t i = 0; i < shown; ++i) results.push_back(tensor_name(node.name, i));
      check_limit("nodes", results.size(), record.reading->limits.nodes, "{} outputs", results.size());
    }
  const auto computes = std::ranges::find_if_not(record.nodes, gives_nothing);
  check(!results.empty() || computes == record.nodes.end(), ErrorCode::bad_data,
        "node {}: every result is read by another node, so the graph has a cycle and no output",
        computes == record.nodes.end() ? "" : one_line(computes->name, longest_name));

  References references(functions, References::Form::in_graph);
  for (std::string& name : references.resolve(record.nodes, std::move(results)))
    model.graph.outputs.push_back({std::move(name), {}});
  for (ImportNode& node : record.nodes) {
    if (is_placeholder(node))
      model.graph.inputs.push_back({node.name, placeholder_type(node, record.producer)});
    else
      model.graph.nodes.push_back(std::move(node));
  }
  name_batch(model.graph.inputs);
  model.functions = functions_of(record.functions, functions);
  return model;
}

bool looks_like_binary(std::span<const std::byte> bytes) {
  // A node's first field is its name or, where that is left out, its operator; a function's its signature.
  const auto at = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<int>(bytes[i]) : -1; };
  if (at(0) != 0x0a && at(0) != 0x12) return false;
  std::size_t inner = 1;
  while (at(inner) >= 0x80) ++inner;
  if (at(0) == 0x12) return at(inner + 1) == 0x0a && at(inner + 2) >= 0;
  return at(inner + 1) == 0x0a || at(inner + 1) == 0x12;
}

bool looks_like_text(std::span<const std::byte> bytes) {
  static const std::set<std::string, std::less<>> known{"node", "versions", "version", "library"};
  const std::vector<std::string> names = leading_fields(bytes, 8);
  return !names.empty() &&
         std::ranges::all_of(names, [](const std::string& name) { return known.contains(name); });
}

} // namespace

ImportModel read_graph_def(const Content& content, const Limits& limits) {
  Reading reading{TensorReader(content, limits), limits, 0};
  GraphRecord record{&reading, {}, {}, 0};
  if (looks_like_text(content.bytes))
    read_protobuf_text(content.bytes, graph_fields, &record, limits);
  else
    read_protobuf(content.bytes, graph_fields, &record, limits);
  return model_of(record);
}

bool looks_like_graph_def(std::span<const std::byte> bytes) {
  return looks_like_binary(bytes) || looks_like_text(bytes);
}

} // namespace lanner::tensorflow
