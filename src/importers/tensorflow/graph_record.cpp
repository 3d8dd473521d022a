#include "importers/tensorflow/graph_record.h"

#include <map>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"

namespace lanner::tensorflow {
namespace {

// Messages as they are read; those that contain tensors have a pointer to the Reading.
struct ShapeRecord {
  Dims dims;
  std::int64_t size = 0;
  bool unknown_rank = false;
};
struct ListRecord {
  Reading* reading;
  std::uint8_t kind = 0;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;
  std::vector<Type> shapes;
  std::vector<Tensor> tensors;
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
/// An unknown dim is the symbol `unknown__i`, which is renamed when the value is declared. It is -1, or, in
/// `_output_shapes` by TensorFlow's optimizer, another negative number for dims that are equal.
constexpr FieldEntry shape_fields[] = {
    field<ShapeRecord,
          [](ShapeRecord& r, FieldValue& v) {
            r.size = 0;
            v.message(dim_fields, &r);
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
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.data_type = read_data_type(v); }>(
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

Tensor read_tensor(FieldValue& value, Reading* reading) {
  TensorRecord record;
  value.message(tensor_fields, &record);
  return reading->tensors.make(record);
}

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

/// Sets the list's kind, which is the number of its elements' field.
template<std::uint8_t kind>
ListRecord& of_kind(ListRecord& list) {
  list.kind = kind;
  return list;
}
constexpr FieldEntry list_fields[] = {
    field<ListRecord, [](ListRecord& r, FieldValue& v) { of_kind<2>(r).strings.push_back(text(v)); }>(
        2, "s", Wire::bytes),
    field<ListRecord, [](ListRecord& r, FieldValue& v) { of_kind<3>(r).integers.push_back(v.integer()); }>(
        3, "i", Wire::varint),
    field<ListRecord, [](ListRecord& r, FieldValue& v) { of_kind<4>(r).reals.push_back(v.real()); }>(
        4, "f", Wire::fixed32),
    field<ListRecord, [](ListRecord& r, FieldValue& v) { of_kind<5>(r).integers.push_back(v.integer()); }>(
        5, "b", Wire::varint),
    field<ListRecord,
          [](ListRecord& r, FieldValue& v) { of_kind<6>(r).integers.push_back(read_data_type(v)); }>(
        6, "type", Wire::varint),
    field<ListRecord, [](ListRecord& r, FieldValue& v) { of_kind<7>(r).shapes.push_back(read_shape(v)); }>(
        7, "shape", Wire::message),
    field<ListRecord,
          [](ListRecord& r, FieldValue& v) { of_kind<8>(r).tensors.push_back(read_tensor(v, r.reading)); }>(
        8, "tensor", Wire::message),
    field<ListRecord,
          [](ListRecord& r, FieldValue& v) { of_kind<10>(r).strings.push_back(function_name(v)); }>(
        9, "func", Wire::message),
};

ImportAttribute::Value list_value(ListRecord& record) {
  if (!record.strings.empty()) return std::move(record.strings);
  if (!record.reals.empty()) return std::move(record.reals);
  if (!record.shapes.empty()) return std::move(record.shapes);
  if (!record.tensors.empty()) return std::move(record.tensors);
  return std::move(record.integers);
}

/// Sets the attribute's value and the number of its field.
void set(AttributeRecord& record, std::uint8_t kind, ImportAttribute::Value value) {
  record.attribute.kind = kind;
  record.attribute.value = std::move(value);
}

constexpr FieldEntry value_fields[] = {
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) {
            ListRecord list{r.reading, 0, {}, {}, {}, {}, {}};
            v.message(list_fields, &list);
            set(r, static_cast<std::uint8_t>(ImportAttribute::list_kind + list.kind), list_value(list));
          }>(1, "list", Wire::message),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { set(r, 2, text(v)); }>(2, "s",
                                                                                          Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { set(r, 3, v.integer()); }>(3, "i",
                                                                                              Wire::varint),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { set(r, 4, v.real()); }>(4, "f",
                                                                                           Wire::fixed32),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { set(r, 5, v.integer()); }>(5, "b",
                                                                                              Wire::varint),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { set(r, 6, read_data_type(v)); }>(
        6, "type", Wire::varint),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { set(r, 7, read_shape(v)); }>(
        7, "shape", Wire::message),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) {
            try {
              set(r, 8, read_tensor(v, r.reading));
            } catch (const Error& error) {
              // Matters only where the network needs the constant: its rule says so.
              if (error.code() != ErrorCode::unsupported) throw;
              set(r, 8, error.message());
            }
          }>(8, "tensor", Wire::message),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.attribute.reference = text(v); }>(
        9, "placeholder", Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { set(r, 10, function_name(v)); }>(
        10, "func", Wire::message),
};

constexpr FieldEntry attribute_fields[] = {
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.key = text(v); }>(1, "key", Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { v.message(value_fields, &r); }>(
        2, "value", Wire::message),
};

/// TensorFlow's own run-time annotations do not affect the result; those of TRTEngineOp say how its engines
/// are kept (tf/convert), and shapes are for nodes that nothing here infers.
bool is_annotation(std::string_view key) {
  return key.starts_with("_") && key != "_use_implicit_batch" && key != "_allow_build_at_runtime" &&
         key != "_lanner_profiles" && key != "_lanner_static" && key != "_output_shapes";
}

constexpr FieldEntry node_fields[] = {
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.name = text(v); }>(1, "name", Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.op = text(v); }>(2, "op", Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.inputs.push_back(text(v)); }>(3, "input",
                                                                                              Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.device = text(v); }>(4, "device",
                                                                                     Wire::bytes),
    field<NodeRecord,
          [](NodeRecord& r, FieldValue& v) {
            AttributeRecord record{r.reading, {}, {}};
            v.message(attribute_fields, &record);
            if (is_annotation(record.key)) return;
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
    field<FunctionRecord,
          [](FunctionRecord& r, FieldValue& v) {
            PairRecord pair;
            v.message(pair_fields, &pair);
            r.effects.push_back(std::move(pair.value));
          }>(6, "control_ret", Wire::message),
};
constexpr FieldEntry library_fields[] = {
    field<GraphRecord,
          [](GraphRecord& r, FieldValue& v) {
            FunctionRecord& function = r.functions.emplace_back();
            function.reading = r.reading;
            if (!r.reading->text) function.message = v.bytes();
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

// --- op_def.proto ---

struct ResultRecord {
  std::string name, type_attribute, count_attribute, list_attribute;
  std::int64_t type = 0;
};
struct OperatorReading {
  OperatorRecord record;
  std::vector<ResultRecord> results;
  std::map<std::string, std::int64_t> default_types;
};
struct DefaultRecord {
  std::string name;
  std::int64_t type = 0;
};

constexpr FieldEntry default_fields[] = {
    field<DefaultRecord, [](DefaultRecord& r, FieldValue& v) { r.type = read_data_type(v); }>(6, "type",
                                                                                              Wire::varint),
};
constexpr FieldEntry operator_attribute_fields[] = {
    field<DefaultRecord, [](DefaultRecord& r, FieldValue& v) { r.name = text(v); }>(1, "name", Wire::bytes),
    field<DefaultRecord, [](DefaultRecord& r, FieldValue& v) { v.message(default_fields, &r); }>(
        3, "default_value", Wire::message),
};
constexpr FieldEntry result_fields[] = {
    field<ResultRecord, [](ResultRecord& r, FieldValue& v) { r.name = text(v); }>(1, "name", Wire::bytes),
    field<ResultRecord, [](ResultRecord& r, FieldValue& v) { r.type = read_data_type(v); }>(3, "type",
                                                                                            Wire::varint),
    field<ResultRecord, [](ResultRecord& r, FieldValue& v) { r.type_attribute = text(v); }>(4, "type_attr",
                                                                                            Wire::bytes),
    field<ResultRecord, [](ResultRecord& r, FieldValue& v) { r.count_attribute = text(v); }>(5, "number_attr",
                                                                                             Wire::bytes),
    field<ResultRecord, [](ResultRecord& r, FieldValue& v) { r.list_attribute = text(v); }>(
        6, "type_list_attr", Wire::bytes),
};
constexpr FieldEntry operator_fields[] = {
    field<OperatorReading, [](OperatorReading& r, FieldValue& v) { r.record.name = text(v); }>(1, "name",
                                                                                               Wire::bytes),
    field<OperatorReading,
          [](OperatorReading& r, FieldValue& v) { v.message(result_fields, &r.results.emplace_back()); }>(
        3, "output_arg", Wire::message),
    field<OperatorReading,
          [](OperatorReading& r, FieldValue& v) {
            DefaultRecord attribute;
            v.message(operator_attribute_fields, &attribute);
            if (attribute.type != 0) r.default_types[attribute.name] = attribute.type;
          }>(4, "attr", Wire::message),
    field<OperatorReading, [](OperatorReading& r, FieldValue& v) { r.record.stateful = v.integer() != 0; }>(
        17, "is_stateful", Wire::varint),
};

/// A result as results_attribute has it.
std::string result_text(const ResultRecord& result, const std::map<std::string, std::int64_t>& defaults) {
  std::string made = result.name;
  if (!result.count_attribute.empty()) made += "*" + result.count_attribute;
  if (!result.list_attribute.empty()) return made + "@" + result.list_attribute;
  if (result.type_attribute.empty()) return made + fmt::format("={}", result.type);
  made += "=" + result.type_attribute;
  const auto known = defaults.find(result.type_attribute);
  return known == defaults.end() ? made : made + fmt::format("|{}", known->second);
}

constexpr FieldEntry operator_list_fields[] = {
    field<std::vector<OperatorRecord>,
          [](std::vector<OperatorRecord>& r, FieldValue& v) {
            OperatorReading reading;
            v.message(operator_fields, &reading);
            for (const ResultRecord& result : reading.results)
              reading.record.results.push_back(result_text(result, reading.default_types));
            r.push_back(std::move(reading.record));
          }>(1, "op", Wire::message),
};

} // namespace

std::vector<OperatorRecord> read_operators(FieldValue& value) {
  std::vector<OperatorRecord> operators;
  value.message(operator_list_fields, &operators);
  return operators;
}

void read_graph(FieldValue& value, GraphRecord& graph) {
  value.message(graph_fields, &graph);
}

void read_graph_file(std::span<const std::byte> bytes, bool text, GraphRecord& graph) {
  const Limits& limits = graph.reading->limits;
  text ? read_protobuf_text(bytes, graph_fields, &graph, limits)
       : read_protobuf(bytes, graph_fields, &graph, limits);
}

Type read_shape(FieldValue& value) {
  ShapeRecord shape;
  value.message(shape_fields, &shape);
  return shape.unknown_rank ? Type::unranked(DType::f32) : Type(DType::f32, std::move(shape.dims));
}

std::int64_t read_data_type(FieldValue& value) {
  return value.enumerator(data_types);
}

} // namespace lanner::tensorflow
