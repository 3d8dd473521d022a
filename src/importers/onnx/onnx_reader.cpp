#include "importers/onnx/onnx_reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "importers/onnx/onnx_tensor.h"
#include "importers/onnx/size_names.h"
#include "importers/protobuf.h"

namespace lanner::onnx {
namespace {

/// State shared by the readers of all messages.
struct Reading {
  TensorReader tensors;
  const Limits& limits;
  std::uint64_t nodes = 0;
  SizeNames sizes;
};

// Messages as they are read; each has a pointer to the Reading.
struct SparseRecord {
  TensorRecord values, indices;
  std::vector<std::int64_t> dims;
};
struct TypeRecord {
  Reading* reading;
  std::optional<Type> type = {};
  std::int64_t elem_type = 0;
  std::optional<Dims> dims = {};
  std::size_t unknown = 0;
  std::optional<Dim> dim = {};
};
struct ValueRecord {
  Reading* reading;
  ImportValue value;
};
struct AttributeRecord {
  Reading* reading;
  std::string name, reference, text;
  std::int64_t type = 0, integer = 0;
  double real = 0;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string> strings;
  std::vector<Tensor> tensors;
  std::shared_ptr<ImportGraph> graph;
  std::optional<Type> of_type;
  int seen = 0; ///< Field number of the value that was set, for files without a type.
};
struct NodeRecord {
  Reading* reading;
  ImportNode node;
};
struct GraphRecord {
  Reading* reading;
  ImportGraph graph;
};
struct PairRecord {
  std::string key, value;
  std::int64_t number = 0;
};
struct FunctionRecord {
  Reading* reading;
  std::string name, domain, overload;
  ImportFunction function;
};
struct ModelRecord {
  Reading* reading;
  ImportModel model;
};

std::string text(FieldValue& value) {
  return std::string(value.bytes());
}

constexpr FieldEntry pair_fields[] = {
    field<PairRecord, [](PairRecord& r, FieldValue& v) { r.key = text(v); }>(1, "key", Wire::bytes),
    field<PairRecord, [](PairRecord& r, FieldValue& v) { r.value = text(v); }>(2, "value", Wire::bytes),
};
constexpr FieldEntry opset_fields[] = {
    field<PairRecord, [](PairRecord& r, FieldValue& v) { r.key = text(v); }>(1, "domain", Wire::bytes),
    field<PairRecord, [](PairRecord& r, FieldValue& v) { r.number = v.integer(); }>(2, "version",
                                                                                    Wire::varint),
};

constexpr FieldEntry tensor_fields[] = {
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.dims.push_back(v.integer()); }>(1, "dims",
                                                                                               Wire::varint),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.data_type = v.integer(); }>(2, "data_type",
                                                                                           Wire::varint),
    field<TensorRecord,
          [](TensorRecord& r, FieldValue& v) { r.floats.push_back(static_cast<float>(v.real())); }>(
        4, "float_data", Wire::fixed32),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.integers.push_back(v.integer()); }>(
        5, "int32_data", Wire::varint),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.strings.push_back(text(v)); }>(
        6, "string_data", Wire::bytes),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.integers.push_back(v.integer()); }>(
        7, "int64_data", Wire::varint),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.name = text(v); }>(8, "name", Wire::bytes),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.raw = v.bytes(), r.has_raw = true; }>(
        9, "raw_data", Wire::bytes),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.doubles.push_back(v.real()); }>(
        10, "double_data", Wire::fixed64),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.integers.push_back(v.integer()); }>(
        11, "uint64_data", Wire::varint),
    field<TensorRecord,
          [](TensorRecord& r, FieldValue& v) {
            PairRecord pair;
            v.message(pair_fields, &pair);
            r.external[pair.key] = pair.value;
          }>(13, "external_data", Wire::message),
    field<TensorRecord, [](TensorRecord& r, FieldValue& v) { r.data_location = v.integer(); }>(
        14, "data_location", Wire::varint),
};

constexpr FieldEntry sparse_fields[] = {
    field<SparseRecord, [](SparseRecord& r, FieldValue& v) { v.message(tensor_fields, &r.values); }>(
        1, "values", Wire::message),
    field<SparseRecord, [](SparseRecord& r, FieldValue& v) { v.message(tensor_fields, &r.indices); }>(
        2, "indices", Wire::message),
    field<SparseRecord, [](SparseRecord& r, FieldValue& v) { r.dims.push_back(v.integer()); }>(3, "dims",
                                                                                               Wire::varint),
};

Tensor sparse_tensor(const SparseRecord& record, Reading& reading) {
  const auto make = [&] {
    return reading.tensors.densify(reading.tensors.make(record.values), reading.tensors.make(record.indices),
                                   record.dims);
  };
  return with_context([&] { return "sparse tensor '" + record.values.name + "'"; }, make);
}

constexpr FieldEntry dim_fields[] = {
    field<TypeRecord,
          [](TypeRecord& r, FieldValue& v) {
            check(v.integer() >= -1, ErrorCode::bad_data, "dim {} is negative", v.integer());
            if (v.integer() >= 0) r.dim = Dim(v.integer());
          }>(1, "dim_value", Wire::varint),
    field<TypeRecord,
          [](TypeRecord& r, FieldValue& v) {
            if (names_a_size(v.bytes())) r.dim = Dim::symbol(r.reading->sizes.of(v.bytes()));
          }>(2, "dim_param", Wire::bytes),
};
/// An unknown dim is the symbol `unknown__i`, which is renamed when the value is declared.
constexpr FieldEntry shape_fields[] = {
    field<TypeRecord,
          [](TypeRecord& r, FieldValue& v) {
            r.dim.reset();
            v.message(dim_fields, &r);
            check_rank(r.dims->size() + 1, "a value's shape");
            r.dims->push_back(r.dim ? *r.dim : Dim::symbol(fmt::format("unknown__{}", r.dims->size())));
          }>(1, "dim", Wire::message),
};
constexpr FieldEntry tensor_type_fields[] = {
    field<TypeRecord, [](TypeRecord& r, FieldValue& v) { r.elem_type = v.integer(); }>(1, "elem_type",
                                                                                       Wire::varint),
    field<TypeRecord,
          [](TypeRecord& r, FieldValue& v) {
            r.dims.emplace();
            v.message(shape_fields, &r);
          }>(2, "shape", Wire::message),
};

extern const std::span<const FieldEntry> type_fields;

std::optional<Type> read_type(FieldValue& value, Reading* reading) {
  TypeRecord record{.reading = reading};
  value.message(type_fields, &record);
  return record.type;
}

void read_tensor_type(TypeRecord& r, FieldValue& v) {
  TypeRecord inner{.reading = r.reading};
  v.message(tensor_type_fields, &inner);
  if (inner.elem_type == 0) return;
  const DType type = dtype_of_onnx(inner.elem_type);
  r.type = inner.dims ? Type(type, *inner.dims) : Type::unranked(type);
}

constexpr FieldEntry element_fields[] = {
    field<TypeRecord, [](TypeRecord& r, FieldValue& v) { r.type = read_type(v, r.reading); }>(1, "elem_type",
                                                                                              Wire::message),
};

constexpr FieldEntry type_table[] = {
    field<TypeRecord, read_tensor_type>(1, "tensor_type", Wire::message),
    field<TypeRecord,
          [](TypeRecord& r, FieldValue& v) {
            TypeRecord inner{.reading = r.reading};
            v.message(element_fields, &inner);
            if (inner.type) r.type = Type::sequence(*inner.type);
          }>(4, "sequence_type", Wire::message),
    field<TypeRecord,
          [](TypeRecord& r, FieldValue& v) {
            TypeRecord inner{.reading = r.reading};
            v.message(element_fields, &inner);
            if (inner.type) r.type = Type::optional(*inner.type);
          }>(9, "optional_type", Wire::message),
};
const std::span<const FieldEntry> type_fields = type_table;

constexpr FieldEntry value_fields[] = {
    field<ValueRecord, [](ValueRecord& r, FieldValue& v) { r.value.name = text(v); }>(1, "name", Wire::bytes),
    field<ValueRecord, [](ValueRecord& r, FieldValue& v) { r.value.type = read_type(v, r.reading); }>(
        2, "type", Wire::message),
};

extern const std::span<const FieldEntry> graph_fields;

std::shared_ptr<ImportGraph> read_graph(FieldValue& value, Reading* reading) {
  GraphRecord record{reading, {}};
  value.message(graph_fields, &record);
  return std::make_shared<ImportGraph>(std::move(record.graph));
}

Tensor read_tensor(FieldValue& value, Reading* reading) {
  TensorRecord record;
  value.message(tensor_fields, &record);
  return reading->tensors.make(record);
}

constexpr FieldEntry attribute_fields[] = {
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.name = text(v); }>(1, "name",
                                                                                        Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.real = v.real(), r.seen = 1; }>(
        2, "f", Wire::fixed32),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.integer = v.integer(), r.seen = 2; }>(
        3, "i", Wire::varint),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.text = text(v), r.seen = 3; }>(
        4, "s", Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r,
                              FieldValue& v) { r.tensors.push_back(read_tensor(v, r.reading)), r.seen = 4; }>(
        5, "t", Wire::message),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) { r.graph = read_graph(v, r.reading), r.seen = 5; }>(
        6, "g", Wire::message),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) { r.reals.push_back(v.real()), r.seen = 6; }>(7, "floats",
                                                                                              Wire::fixed32),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) { r.integers.push_back(v.integer()), r.seen = 7; }>(
        8, "ints", Wire::varint),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) { r.strings.push_back(text(v)), r.seen = 8; }>(9, "strings",
                                                                                               Wire::bytes),
    field<AttributeRecord, [](AttributeRecord& r,
                              FieldValue& v) { r.tensors.push_back(read_tensor(v, r.reading)), r.seen = 9; }>(
        10, "tensors", Wire::message),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) { r.of_type = read_type(v, r.reading), r.seen = 13; }>(
        14, "tp", Wire::message),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.type = v.integer(); }>(20, "type",
                                                                                            Wire::varint),
    field<AttributeRecord, [](AttributeRecord& r, FieldValue& v) { r.reference = text(v); }>(
        21, "ref_attr_name", Wire::bytes),
    field<AttributeRecord,
          [](AttributeRecord& r, FieldValue& v) {
            SparseRecord sparse;
            v.message(sparse_fields, &sparse);
            r.tensors.push_back(sparse_tensor(sparse, *r.reading)), r.seen = 4;
          }>(22, "sparse_tensor", Wire::message),
};

/// AttributeProto.AttributeType numbers; a sparse tensor counts as a tensor.
ImportAttribute::Value attribute_value(AttributeRecord& r) {
  const auto kind = r.type == 11 ? 4 : r.type ? r.type : r.seen;
  switch (kind) {
  case 1:
    return r.real;
  case 2:
    return r.integer;
  case 3:
    return std::move(r.text);
  case 4:
    check(r.tensors.size() == 1, ErrorCode::bad_data, "attribute {} has no tensor", r.name);
    return r.tensors[0];
  case 5:
    check(r.graph != nullptr, ErrorCode::bad_data, "attribute {} has no graph", r.name);
    return r.graph;
  case 6:
    return std::move(r.reals);
  case 7:
    return std::move(r.integers);
  case 8:
    return std::move(r.strings);
  case 9:
    return std::move(r.tensors);
  case 13:
    check(r.of_type.has_value(), ErrorCode::bad_data, "attribute {} has no type", r.name);
    return *r.of_type;
  case 0:
    return std::monostate{};
  default:
    fail(ErrorCode::unsupported, "attribute {} has kind {}", r.name, kind);
  }
}

void add_attribute(std::map<std::string, ImportAttribute, std::less<>>& into, FieldValue& value,
                   Reading* reading) {
  AttributeRecord record{reading, {}, {}, {}, 0, 0, 0, {}, {}, {}, {}, {}, {}, 0};
  value.message(attribute_fields, &record);
  ImportAttribute attribute;
  attribute.reference = record.reference;
  if (attribute.reference.empty()) attribute.value = attribute_value(record);
  into.insert_or_assign(record.name, std::move(attribute));
}

constexpr FieldEntry node_fields[] = {
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.inputs.push_back(text(v)); }>(1, "input",
                                                                                              Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.outputs.push_back(text(v)); }>(2, "output",
                                                                                               Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.name = text(v); }>(3, "name", Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.op = text(v); }>(4, "op_type", Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { add_attribute(r.node.attributes, v, r.reading); }>(
        5, "attribute", Wire::message),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.domain = text(v); }>(7, "domain",
                                                                                     Wire::bytes),
    field<NodeRecord, [](NodeRecord& r, FieldValue& v) { r.node.overload = text(v); }>(8, "overload",
                                                                                       Wire::bytes),
};

void add_node(std::vector<ImportNode>& nodes, FieldValue& value, Reading* reading) {
  ++reading->nodes;
  check_limit("nodes", reading->nodes, reading->limits.nodes, "{} nodes", reading->nodes);
  NodeRecord record{reading, {}};
  value.message(node_fields, &record);
  if (record.node.domain == "ai.onnx") record.node.domain.clear();
  nodes.push_back(std::move(record.node));
}

ImportValue read_value(FieldValue& value, Reading* reading) {
  ValueRecord record{reading, {}};
  value.message(value_fields, &record);
  return std::move(record.value);
}

constexpr FieldEntry graph_table[] = {
    field<GraphRecord, [](GraphRecord& r, FieldValue& v) { add_node(r.graph.nodes, v, r.reading); }>(
        1, "node", Wire::message),
    field<GraphRecord, [](GraphRecord& r, FieldValue& v) { r.graph.name = text(v); }>(2, "name", Wire::bytes),
    field<GraphRecord,
          [](GraphRecord& r, FieldValue& v) {
            TensorRecord tensor;
            v.message(tensor_fields, &tensor);
            r.graph.constants.emplace_back(tensor.name, r.reading->tensors.make(tensor));
          }>(5, "initializer", Wire::message),
    field<GraphRecord,
          [](GraphRecord& r, FieldValue& v) { r.graph.inputs.push_back(read_value(v, r.reading)); }>(
        11, "input", Wire::message),
    field<GraphRecord,
          [](GraphRecord& r, FieldValue& v) { r.graph.outputs.push_back(read_value(v, r.reading)); }>(
        12, "output", Wire::message),
    field<GraphRecord,
          [](GraphRecord& r, FieldValue& v) {
            SparseRecord sparse;
            v.message(sparse_fields, &sparse);
            r.graph.constants.emplace_back(sparse.values.name, sparse_tensor(sparse, *r.reading));
          }>(15, "sparse_initializer", Wire::message),
};
const std::span<const FieldEntry> graph_fields = graph_table;

constexpr FieldEntry function_fields[] = {
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.name = text(v); }>(1, "name", Wire::bytes),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.function.inputs.push_back(text(v)); }>(
        4, "input", Wire::bytes),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.function.outputs.push_back(text(v)); }>(
        5, "output", Wire::bytes),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.function.attributes.push_back(text(v)); }>(
        6, "attribute", Wire::bytes),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { add_node(r.function.nodes, v, r.reading); }>(
        7, "node", Wire::message),
    field<FunctionRecord,
          [](FunctionRecord& r, FieldValue& v) {
            PairRecord opset;
            v.message(opset_fields, &opset);
            r.function.opsets[opset.key == "ai.onnx" ? "" : opset.key] = opset.number;
          }>(9, "opset_import", Wire::message),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.domain = text(v); }>(10, "domain",
                                                                                        Wire::bytes),
    field<FunctionRecord, [](FunctionRecord& r,
                             FieldValue& v) { add_attribute(r.function.default_attributes, v, r.reading); }>(
        11, "attribute_proto", Wire::message),
    field<FunctionRecord, [](FunctionRecord& r, FieldValue& v) { r.overload = text(v); }>(13, "overload",
                                                                                          Wire::bytes),
};

constexpr FieldEntry model_fields[] = {
    field<ModelRecord, [](ModelRecord& r, FieldValue& v) { r.model.ir_version = v.integer(); }>(
        1, "ir_version", Wire::varint),
    field<ModelRecord, [](ModelRecord& r, FieldValue& v) { r.model.metadata["producer"] = text(v); }>(
        2, "producer_name", Wire::bytes),
    field<ModelRecord, [](ModelRecord& r, FieldValue& v) { r.model.metadata["producer_version"] = text(v); }>(
        3, "producer_version", Wire::bytes),
    field<ModelRecord, [](ModelRecord& r, FieldValue& v) { r.model.metadata["domain"] = text(v); }>(
        4, "domain", Wire::bytes),
    field<ModelRecord,
          [](ModelRecord& r, FieldValue& v) {
            r.model.metadata["model_version"] = fmt::format("{}", v.integer());
          }>(5, "model_version", Wire::varint),
    field<ModelRecord, [](ModelRecord& r, FieldValue& v) { r.model.metadata["description"] = text(v); }>(
        6, "doc_string", Wire::bytes),
    field<ModelRecord,
          [](ModelRecord& r, FieldValue& v) {
            GraphRecord graph{r.reading, {}};
            v.message(graph_fields, &graph);
            r.model.graph = std::move(graph.graph);
          }>(7, "graph", Wire::message),
    field<ModelRecord,
          [](ModelRecord& r, FieldValue& v) {
            PairRecord opset;
            v.message(opset_fields, &opset);
            r.model.opsets[opset.key == "ai.onnx" ? "" : opset.key] = opset.number;
          }>(8, "opset_import", Wire::message),
    field<ModelRecord,
          [](ModelRecord& r, FieldValue& v) {
            PairRecord entry;
            v.message(pair_fields, &entry);
            r.model.metadata[entry.key] = entry.value;
          }>(14, "metadata_props", Wire::message),
    field<ModelRecord,
          [](ModelRecord& r, FieldValue& v) {
            FunctionRecord f{r.reading, {}, {}, {}, {}};
            v.message(function_fields, &f);
            const std::string domain = f.domain == "ai.onnx" ? "" : f.domain;
            r.model.functions[domain + "." + f.name + (f.overload.empty() ? "" : ":" + f.overload)] =
                std::move(f.function);
          }>(25, "functions", Wire::message),
};

} // namespace

bool looks_like_onnx(std::span<const std::byte> bytes) {
  try {
    protozero::pbf_reader message(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    bool graph = false;
    for (int i = 0; i < 64 && message.next(); ++i) {
      const bool text = message.wire_type() == protozero::pbf_wire_type::length_delimited;
      const auto tag = message.tag();
      const bool known =
          tag == 1 || tag == 5
              ? !text
              : ((tag >= 2 && tag <= 8) || tag == 14 || tag == 20 || tag == 25 || tag == 26) && text;
      if (!known) return false;
      graph = graph || tag == 7 || tag == 8;
      message.skip();
    }
    return graph;
  } catch (const protozero::exception&) {
    // A truncated model is still recognised by its first field, so that the message is about ONNX.
    return bytes.size() > 2 && bytes[0] == std::byte{0x08} && bytes[1] < std::byte{0x20};
  }
}

ImportModel read_onnx(const Content& content, const ImportOptions& options) {
  const Limits& limits = options.limits;
  Reading reading{TensorReader(content.owner, options), limits, 0, {}};
  ModelRecord record{&reading, {}};
  read_protobuf(content.bytes, model_fields, &record, limits);
  return std::move(record.model);
}

} // namespace lanner::onnx
