#include "tf/write/graph_def.h"

#include <limits>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "tf/write/graph_writer.h"
#include "tf/write/tensor_proto.h"

namespace lanner::tf {
namespace {

using protozero::pbf_writer;

/// The largest message that protobuf reads.
constexpr std::uint64_t largest_message = std::numeric_limits<std::int32_t>::max();

// A message without fields is left out by the writer, though it says more than none.
bool is_empty(const PartialShape& shape) {
  return shape.dims && shape.dims->empty();
}
template<typename T>
bool is_empty(const std::vector<T>& values) {
  return values.empty();
}
template<typename T>
bool is_empty(const T&) {
  return false;
}

void write(pbf_writer& into, const FunctionName& function);
void write(pbf_writer& into, const NodeRecord& node);
void write(pbf_writer& into, const FunctionRecord& function);
void write(pbf_writer& into, const PartialShape& shape);
void write(pbf_writer& into, const Tensor& given);
template<typename T>
void write(pbf_writer& list, const std::vector<T>& values);

template<typename T>
void add_message(pbf_writer& into, protozero::pbf_tag_type tag, const T& value) {
  if (is_empty(value)) return into.add_message(tag, "", 0);
  pbf_writer message(into, tag);
  write(message, value);
}

void write(pbf_writer& into, const PartialShape& shape) {
  if (!shape.dims) return into.add_bool(3, true);
  for (const std::int64_t size : *shape.dims) {
    pbf_writer dim(into, 2);
    dim.add_int64(1, size);
  }
}

void write(pbf_writer& into, const Tensor& given) {
  const Tensor tensor = plain(given);
  into.add_enum(1, static_cast<std::int32_t>(data_type_of(tensor.dtype())));
  {
    pbf_writer shape(into, 2);
    write(shape, PartialShape{tensor.shape().dims()});
  }
  if (tensor.dtype() == DType::string) {
    for (const std::string& text : tensor.as<std::string>()) into.add_bytes(8, text);
    return;
  }
  const auto bytes = element_bytes(tensor);
  require_protobuf_size(bytes.size(), "a tensor's elements");
  if (!bytes.empty()) into.add_bytes(4, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void write(pbf_writer& into, const FunctionName& function) {
  into.add_string(1, function.name);
}

// The fields of AttrValue.ListValue.
void write_list(pbf_writer& list, const std::vector<std::string>& values) {
  for (const std::string& value : values) list.add_bytes(2, value);
}
void write_list(pbf_writer& list, const std::vector<std::int64_t>& values) {
  list.add_packed_int64(3, values.begin(), values.end());
}
void write_list(pbf_writer& list, const std::vector<float>& values) {
  list.add_packed_float(4, values.begin(), values.end());
}
void write_list(pbf_writer& list, const std::vector<bool>& values) {
  list.add_packed_bool(5, values.begin(), values.end());
}
void write_list(pbf_writer& list, const std::vector<DataType>& values) {
  std::vector<std::int32_t> numbers;
  for (const DataType value : values) numbers.push_back(static_cast<std::int32_t>(value));
  list.add_packed_enum(6, numbers.begin(), numbers.end());
}
void write_list(pbf_writer& list, const std::vector<PartialShape>& values) {
  for (const PartialShape& value : values) add_message(list, 7, value);
}
void write_list(pbf_writer& list, const std::vector<FunctionName>& values) {
  for (const FunctionName& value : values) add_message(list, 9, value);
}

template<typename T>
void write(pbf_writer& list, const std::vector<T>& values) {
  write_list(list, values);
}

/// Adds the field of AttrValue that holds the value's kind.
struct ValueWriter {
  pbf_writer& into;

  void operator()(const std::string& value) { into.add_bytes(2, value); }
  void operator()(std::int64_t value) { into.add_int64(3, value); }
  void operator()(float value) { into.add_float(4, value); }
  void operator()(bool value) { into.add_bool(5, value); }
  void operator()(DataType value) { into.add_enum(6, static_cast<std::int32_t>(value)); }
  void operator()(const PartialShape& value) { add_message(into, 7, value); }
  void operator()(const Tensor& value) { add_message(into, 8, value); }
  void operator()(const FunctionName& value) { add_message(into, 10, value); }
  void operator()(const AttributeReference& value) { into.add_string(9, value.name); }
  /// Is a whole message, and never gets here.
  void operator()(const RawMessage&) {}
  template<typename T>
  void operator()(const std::vector<T>& values) {
    add_message(into, 1, values);
  }
};

void add(pbf_writer& into, protozero::pbf_tag_type tag, const AttrValue& value) {
  if (const auto* raw = std::get_if<RawMessage>(&value)) return into.add_message(tag, raw->bytes);
  pbf_writer message(into, tag);
  std::visit(ValueWriter{message}, value);
}

void add(pbf_writer& into, protozero::pbf_tag_type tag, const Attributes& attributes) {
  for (const auto& [key, value] : attributes) {
    pbf_writer entry(into, tag);
    entry.add_string(1, key);
    add(entry, 2, value);
  }
}

void add(pbf_writer& into, protozero::pbf_tag_type tag, const std::map<std::string, std::string>& pairs) {
  for (const auto& [key, value] : pairs) {
    pbf_writer entry(into, tag);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
}

void write(pbf_writer& into, const NodeRecord& node) {
  check_deadline();
  with_context([&] { return "node '" + one_line(node.name, 200) + "'"; },
               [&] {
                 into.add_string(1, node.name);
                 into.add_string(2, node.op);
                 for (const std::string& input : node.inputs) into.add_string(3, input);
                 if (!node.device.empty()) into.add_string(4, node.device);
                 add(into, 5, node.attributes);
               });
}

void add_argument(pbf_writer& into, protozero::pbf_tag_type tag, const ArgumentRecord& argument) {
  pbf_writer message(into, tag);
  message.add_string(1, argument.name);
  message.add_enum(3, static_cast<std::int32_t>(argument.type));
}

void write_signature(pbf_writer& into, const FunctionRecord& function) {
  into.add_string(1, function.name);
  for (const ArgumentRecord& input : function.inputs) add_argument(into, 2, input);
  for (const ArgumentRecord& output : function.outputs) add_argument(into, 3, output);
  if (function.stateful) into.add_bool(17, true);
  for (const std::string& output : function.control_outputs) into.add_string(20, output);
}

void write(pbf_writer& into, const FunctionRecord& function) {
  {
    pbf_writer signature(into, 1);
    write_signature(signature, function);
  }
  for (const NodeRecord& node : function.nodes) add_message(into, 3, node);
  add(into, 4, function.results);
  add(into, 5, function.attributes);
  add(into, 6, function.control_results);
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    if (function.inputs[i].attributes.empty()) continue;
    pbf_writer entry(into, 7);
    entry.add_uint32(1, static_cast<std::uint32_t>(i));
    pbf_writer attributes(entry, 2);
    add(attributes, 1, function.inputs[i].attributes);
  }
}

// Sizes of what takes memory, so that the text need not grow while it is written.

std::uint64_t large_bytes(const AttrValue& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value)) {
    if (tensor->dtype() != DType::string) return tensor->bytes();
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    return text->size();
  } else if (const auto* raw = std::get_if<RawMessage>(&value)) {
    return raw->bytes.size();
  }
  return 0;
}

std::uint64_t large_bytes(const std::vector<NodeRecord>& nodes) {
  std::uint64_t bytes = 0;
  for (const NodeRecord& node : nodes) {
    constexpr std::uint64_t small = 64;
    bytes += small + node.name.size();
    for (const std::string& input : node.inputs) bytes += input.size();
    for (const auto& [key, value] : node.attributes) bytes += small + large_bytes(value);
  }
  return bytes;
}

template<typename T>
std::string message_of(const T& record) {
  std::string bytes;
  pbf_writer writer(bytes);
  write(writer, record);
  require_protobuf_size(bytes.size(), "a message");
  return bytes;
}

} // namespace

DataType data_type_of(DType type) {
  switch (type) {
  case DType::f32:
    return DataType::f32;
  case DType::f64:
    return DataType::f64;
  case DType::f16:
    return DataType::f16;
  case DType::bf16:
    return DataType::bf16;
  case DType::i8:
    return DataType::i8;
  case DType::u8:
    return DataType::u8;
  case DType::i16:
    return DataType::i16;
  case DType::u16:
    return DataType::u16;
  case DType::i32:
    return DataType::i32;
  case DType::u32:
    return DataType::u32;
  case DType::i64:
    return DataType::i64;
  case DType::u64:
    return DataType::u64;
  case DType::boolean:
    return DataType::boolean;
  case DType::string:
    return DataType::string;
  case DType::c64:
    return DataType::c64;
  case DType::c128:
    return DataType::c128;
  case DType::f8e5m2:
    return DataType::f8e5m2;
  case DType::f8e4m3fn:
    return DataType::f8e4m3fn;
  default:
    fail(ErrorCode::unsupported, "TensorFlow's tensors have no type {}; cast it to i8 or f32",
         to_string(type));
  }
}

Tensor plain(const Tensor& tensor) {
  return tensor.layout().row_major() && tensor.device().is_host() ? tensor : tensor.clone();
}

std::span<const std::byte> element_bytes(const Tensor& tensor) {
  check(tensor.dtype() != DType::string, ErrorCode::invalid_argument, "a tensor of text has no bytes");
  return {static_cast<const std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

void require_protobuf_size(std::uint64_t bytes, std::string_view what) {
  check(bytes <= largest_message, ErrorCode::limit_exceeded,
        "{} of {} bytes: protobuf reads messages of {} at most; keep the weights in variables", what, bytes,
        largest_message);
}

void write_graph(pbf_writer& into, const GraphRecord& graph) {
  for (const NodeRecord& node : graph.nodes) add_message(into, 1, node);
  if (!graph.functions.empty() || !graph.other_functions.empty()) {
    pbf_writer library(into, 2);
    for (const FunctionRecord& function : graph.functions) add_message(library, 1, function);
    for (const RawMessage& function : graph.other_functions) library.add_message(1, function.bytes);
  }
  pbf_writer versions(into, 4);
  versions.add_int32(1, graph.producer);
  versions.add_int32(2, graph.min_consumer);
}

std::uint64_t expected_bytes(const GraphRecord& graph) {
  std::uint64_t bytes = large_bytes(graph.nodes);
  for (const FunctionRecord& function : graph.functions) bytes += large_bytes(function.nodes);
  for (const RawMessage& function : graph.other_functions) bytes += function.bytes.size();
  require_protobuf_size(bytes, "a graph's tensors");
  return bytes;
}

std::string serialized(const GraphRecord& graph) {
  std::string bytes;
  bytes.reserve(expected_bytes(graph));
  pbf_writer writer(bytes);
  write_graph(writer, graph);
  require_protobuf_size(bytes.size(), "a graph");
  return bytes;
}
std::string serialized(const FunctionRecord& function) {
  return message_of(function);
}
std::string serialized(const NodeRecord& node) {
  return message_of(node);
}
std::string serialized(const PartialShape& shape) {
  return message_of(shape);
}
std::string serialized(const AttrValue& value) {
  if (const auto* raw = std::get_if<RawMessage>(&value)) return raw->bytes;
  std::string bytes;
  pbf_writer writer(bytes);
  std::visit(ValueWriter{writer}, value);
  return bytes;
}

} // namespace lanner::tf
