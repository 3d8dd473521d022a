#include "node.h"

#include <sys/stat.h>

#include <map>
#include <optional>

#include <lanner/source.h>

#include "protobuf.h"

namespace lanner::tensorflow_ops {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

// Numbers of fields: graph.proto, node_def.proto, attr_value.proto, function.proto, tensor_shape.proto.
enum Field : protozero::pbf_tag_type {
  graph_node = 1,
  graph_library = 2,
  graph_versions = 4,
  node_name = 1,
  node_op = 2,
  node_input = 3,
  node_device = 4,
  node_attr = 5,
  entry_key = 1,
  entry_value = 2,
  value_list = 1,
  value_s = 2,
  value_b = 5,
  value_type = 6,
  value_shape = 7,
  value_func = 10,
  list_func = 9,
  library_function = 1,
  function_signature = 1,
  function_node = 3,
};

/// Calls `visit(key, value)` for each attribute of a NodeDef.
template<typename Visit>
void each_attribute(std::string_view node, Visit&& visit) {
  each_field(node, "the node", [&](pbf_reader& field) {
    if (field.tag() != node_attr) return field.skip();
    std::string_view key, value;
    each_field(bytes_of(field), "an attribute", [&](pbf_reader& entry) {
      if (entry.tag() == entry_key)
        key = bytes_of(entry);
      else if (entry.tag() == entry_value)
        value = bytes_of(entry);
      else
        entry.skip();
    });
    visit(key, value);
  });
}

/// The last field `tag` of a message that is text, or an integer.
std::string_view text_in(std::string_view message, protozero::pbf_tag_type tag) {
  std::string_view found;
  each_field(message, "an attribute", [&](pbf_reader& field) {
    if (field.tag() == tag && field.wire_type() == protozero::pbf_wire_type::length_delimited)
      found = bytes_of(field);
    else
      field.skip();
  });
  return found;
}

bool flag_in(std::string_view value) {
  bool found = false;
  each_field(value, "an attribute", [&](pbf_reader& field) {
    if (field.tag() == value_b && field.wire_type() == protozero::pbf_wire_type::varint)
      found = integer_of(field) != 0;
    else
      field.skip();
  });
  return found;
}

std::vector<int> types_in(std::string_view value) {
  std::vector<int> types;
  each_field(text_in(value, value_list), "a list of types", [&](pbf_reader& field) {
    if (field.tag() != value_type) return field.skip();
    if (field.wire_type() == protozero::pbf_wire_type::varint) {
      types.push_back(static_cast<int>(integer_of(field)));
    } else {
      for (const auto type : field.get_packed_enum()) types.push_back(type);
    }
  });
  return types;
}

NodeShape shape_in(std::string_view message) {
  constexpr protozero::pbf_tag_type dim = 2, unknown_rank = 3, size = 1;
  NodeShape shape{true, {}};
  each_field(message, "a shape", [&](pbf_reader& field) {
    if (field.tag() == unknown_rank) {
      shape.ranked = !integer_of(field) != 0;
    } else if (field.tag() == dim) {
      std::int64_t& made = shape.dims.emplace_back(0);
      each_field(bytes_of(field), "a shape", [&](pbf_reader& member) {
        if (member.tag() == size)
          made = integer_of(member);
        else
          member.skip();
      });
    } else {
      field.skip();
    }
  });
  return shape;
}

std::vector<NodeShape> shapes_in(std::string_view value) {
  std::vector<NodeShape> shapes;
  each_field(text_in(value, value_list), "a list of shapes", [&](pbf_reader& field) {
    if (field.tag() == value_shape)
      shapes.push_back(shape_in(bytes_of(field)));
    else
      field.skip();
  });
  return shapes;
}

/// `TensorRTInputPH_3` is 3; TensorFlow 1.7 to 1.12 left out the first word.
std::optional<std::size_t> number_after(std::string_view name, std::string_view stem) {
  if (name.starts_with("TensorRT")) name.remove_prefix(8);
  if (!name.starts_with(stem)) return std::nullopt;
  name.remove_prefix(stem.size());
  if (name.empty() || name.size() > 6) return std::nullopt;
  std::size_t number = 0;
  for (const char digit : name) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = 10 * number + static_cast<std::size_t>(digit - '0');
  }
  return number;
}

/// Whether bytes begin as a plan of Lanner's does: a safetensors file.
bool is_plan(std::string_view bytes) {
  constexpr std::size_t length = 8;
  return bytes.size() > length && bytes[length] == '{' && bytes[length - 1] == 0;
}

/// Whether bytes are a GraphDef with the placeholders of a segment; else they are an engine of TensorRT.
bool is_segment(std::string_view bytes) {
  bool has_output = false;
  try {
    each_field(bytes, "the segment", [&](pbf_reader& field) {
      if (field.tag() > graph_versions) errors::fail(ErrorCode::bad_data, "not a GraphDef");
      if (field.tag() != graph_node) return field.skip();
      has_output |= number_after(text_in(bytes_of(field), node_name), "OutputPH_").has_value();
    });
  } catch (const Error&) {
    return false;
  }
  return has_output;
}

// Attributes of lanner.tf.register(), about the SavedModel that the node comes from: `NANOSECONDS FOLDER`,
// the time of its saved_model.pb; and `NANOSECONDS FOLDER`, a function's name or nothing, a node's name on
// three lines, or `NANOSECONDS FOLDER` and `@` with the name of the function that is the segment.
constexpr const char* folder_attribute = "_lanner_folder";
constexpr const char* place_attribute = "_lanner_segment";

/// Empty where the file is another one by now: a graph may be saved elsewhere with this attribute.
std::filesystem::path unchanged_folder(std::string_view said) {
  const std::size_t space = said.find(' ');
  if (space == std::string_view::npos) return {};
  const std::filesystem::path folder = said.substr(space + 1);
  struct stat file = {};
  if (::stat((folder / "saved_model.pb").c_str(), &file) != 0) return {};
  const std::int64_t time = std::int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec;
  return said.substr(0, space) == std::to_string(time) ? folder : std::filesystem::path();
}

/// The message in field `tag` whose text in field `name_tag`, perhaps of its own field 1, is `name`.
std::string_view find_named(std::string_view message, protozero::pbf_tag_type tag, bool by_signature,
                            std::string_view name) {
  std::string_view found;
  each_field(message, "the graph", [&](pbf_reader& field) {
    if (field.tag() != tag) return field.skip();
    const std::string_view one = bytes_of(field);
    if (text_in(by_signature ? text_in(one, function_signature) : one, 1) == name) found = one;
  });
  return found;
}

/// Calls `visit` with the GraphDef of each MetaGraph.
template<typename Visit>
void each_graph(std::string_view saved_model, Visit visit) {
  constexpr protozero::pbf_tag_type meta_graph = 2, graph_def = 2;
  each_field(saved_model, "saved_model.pb", [&](pbf_reader& field) {
    if (field.tag() != meta_graph) return field.skip();
    visit(text_in(bytes_of(field), graph_def));
  });
}

/// The segment of a node of a SavedModel's file; empty: there is none.
std::string_view segment_in(std::string_view saved_model, std::string_view function, std::string_view name) {
  std::string_view found;
  each_graph(saved_model, [&](std::string_view graph) {
    const std::string_view node =
        function.empty()
            ? find_named(graph, graph_node, false, name)
            : find_named(find_named(text_in(graph, graph_library), library_function, true, function),
                         function_node, false, name);
    each_attribute(node, [&](std::string_view key, std::string_view value) {
      if (key == "serialized_segment") found = text_in(value, value_s);
    });
  });
  return found;
}

void add_type(pbf_writer& node, const char* key, int type) {
  pbf_writer entry(node, node_attr);
  entry.add_string(entry_key, key);
  pbf_writer value(entry, entry_value);
  value.add_enum(value_type, type);
}

void add_types(pbf_writer& node, const char* key, const std::vector<int>& types) {
  pbf_writer entry(node, node_attr);
  entry.add_string(entry_key, key);
  pbf_writer value(entry, entry_value);
  pbf_writer list(value, value_list);
  for (const int type : types) list.add_enum(value_type, type);
}

void add_placeholder(pbf_writer& graph, const std::string& name, int type, const NodeShape* shape) {
  pbf_writer node(graph, graph_node);
  node.add_string(node_name, name);
  node.add_string(node_op, "Placeholder");
  add_type(node, "dtype", type);
  if (!shape) return;
  pbf_writer entry(node, node_attr);
  entry.add_string(entry_key, "shape");
  pbf_writer value(entry, entry_value);
  pbf_writer message(value, value_shape);
  if (!shape->ranked) message.add_bool(3, true);
  for (const std::int64_t size : shape->dims) {
    pbf_writer dim(message, 2);
    dim.add_int64(1, size);
  }
}

void add_versions(pbf_writer& graph) {
  pbf_writer versions(graph, graph_versions);
  versions.add_int32(1, 1087); // the producer: as that of TensorFlow 2.12, whose rules the nodes follow
}

std::string input_name(std::size_t i) {
  return fmt::format("lanner_input_{}", i);
}

/// Adds the functions that a node of a function may call.
void add_callees(std::string_view node, std::vector<std::string_view>& names) {
  names.push_back(text_in(node, node_op));
  each_attribute(node, [&](std::string_view, std::string_view value) {
    each_field(value, "an attribute", [&](pbf_reader& field) {
      const auto tag = field.tag();
      if ((tag != value_func && tag != value_list) ||
          field.wire_type() != protozero::pbf_wire_type::length_delimited)
        return field.skip();
      const std::string_view message = bytes_of(field);
      if (tag == value_func) return names.push_back(text_in(message, 1));
      each_field(message, "a list", [&](pbf_reader& one) {
        if (one.tag() != list_func) return one.skip();
        names.push_back(text_in(bytes_of(one), 1));
      });
    });
  });
}

/// The segment of TF-TRT 1.x, whose arguments and results may be nodes that graphs cannot have outside
/// functions.
NativeGraph graph_of_segment(std::string_view segment) {
  NativeGraph made;
  std::map<std::size_t, std::string> inputs, outputs;
  pbf_writer graph(made.graph_def);
  each_field(segment, "the segment", [&](pbf_reader& field) {
    if (field.tag() != graph_node) return copy_field(field, graph);
    const std::string_view node = bytes_of(field);
    const std::string name(text_in(node, node_name));
    const std::string_view op = text_in(node, node_op);
    const auto input = number_after(name, "InputPH_"), output = number_after(name, "OutputPH_");
    if (input) inputs[*input] = name;
    if (output) outputs[*output] = op == "_Retval" ? std::string(text_in(node, node_input)) : name;
    if (op == "_Retval") return;
    if (op != "_Arg") return graph.add_bytes(graph_node, node.data(), node.size());
    int type = 0;
    each_attribute(node, [&](std::string_view key, std::string_view value) {
      if (key == "T")
        each_field(value, "a type", [&](pbf_reader& member) {
          member.tag() == value_type ? void(type = static_cast<int>(integer_of(member))) : member.skip();
        });
    });
    add_placeholder(graph, name, type, nullptr);
  });
  for (auto& [number, name] : inputs) made.inputs.push_back(std::move(name));
  for (auto& [number, name] : outputs) made.outputs.push_back(std::move(name));
  return made;
}

NativeGraph graph_of_function(const Node& node, std::string_view library) {
  NativeGraph made;
  pbf_writer graph(made.graph_def);
  for (std::size_t i = 0; i < node.input_types.size(); ++i) {
    made.inputs.push_back(input_name(i));
    add_placeholder(graph, input_name(i), node.input_types[i], nullptr);
  }
  {
    pbf_writer call(graph, graph_node);
    call.add_string(node_name, "segment");
    call.add_string(node_op, "StatefulPartitionedCall");
    for (const std::string& input : made.inputs) call.add_string(node_input, input);
    add_types(call, "Tin", node.input_types);
    add_types(call, "Tout", node.output_types);
    pbf_writer entry(call, node_attr);
    entry.add_string(entry_key, "f");
    pbf_writer value(entry, entry_value);
    pbf_writer function(value, value_func);
    function.add_string(1, node.function);
  }
  graph.add_bytes(graph_library, library.data(), library.size());
  add_versions(graph);
  for (std::size_t i = 0; i < node.output_types.size(); ++i)
    made.outputs.push_back(fmt::format("segment:{}", i));
  return made;
}

} // namespace

Node read_node(std::string_view node_def) {
  Node node;
  const std::string_view name = text_in(node_def, node_name);
  node.name = name.substr(name.rfind('/') + 1); // npos + 1 is 0
  std::string_view old_function;
  each_attribute(node_def, [&](std::string_view key, std::string_view value) {
    if (key == "InT") node.input_types = types_in(value);
    if (key == "OutT") node.output_types = types_in(value);
    if (key == "input_shapes") node.input_shapes = shapes_in(value);
    if (key == "precision_mode") node.precision = text_in(value, value_s);
    if (key == "segment_func") node.function = text_in(text_in(value, value_func), 1);
    if (key == "_lanner_native_segment") node.may_run_natively = flag_in(value);
    if (key == "segment_funcdef_name") old_function = text_in(value, value_s);
    if (key == folder_attribute) node.folder = unchanged_folder(text_in(value, value_s));
    if (key == place_attribute) node.segment_place = text_in(value, value_s);
    if (key != "serialized_segment") return;
    const std::string_view bytes = text_in(value, value_s);
    node.has_segment = is_segment(bytes);
  });
  if (node.function.empty()) node.function = old_function;
  if (node.function.empty()) node.function = node.name + "_native_segment";
  if (node.input_shapes.size() != node.input_types.size()) node.input_shapes.clear();
  return node;
}

namespace {

Content file_of_place(std::string_view place) {
  const std::size_t first = place.find('\n');
  const std::filesystem::path folder = unchanged_folder(place.substr(0, first));
  errors::check(
      !folder.empty(), ErrorCode::not_found,
      "its native segment is in the SavedModel {}, which was changed or moved since it was read; register "
      "with segments_in_files=False, and load it again",
      place.substr(std::min(place.find(' '), first - 1) + 1, first));
  return read_all(open_path(folder / "saved_model.pb"));
}

} // namespace

bool is_function_place(std::string_view place) {
  return place.substr(std::min(place.find('\n') + 1, place.size())).starts_with('@');
}

std::string function_of_file(std::string_view place) {
  const Content file = file_of_place(place);
  const std::string_view name = place.substr(place.find('\n') + 2);
  std::string functions;
  each_graph({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()},
             [&](std::string_view graph) {
               if (functions.empty()) functions = functions_for(text_in(graph, graph_library), name);
             });
  return functions;
}

std::string with_segment_of_file(std::string_view node_def, std::string_view place) {
  const std::size_t first = place.find('\n'), second = place.find('\n', first + 1);
  errors::check(second != std::string_view::npos, ErrorCode::bad_data, "{}: expected three lines",
                place_attribute);
  const Content file = file_of_place(place);
  const std::string_view segment =
      segment_in({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()},
                 place.substr(first + 1, second - first - 1), place.substr(second + 1));
  std::string bytes;
  bytes.reserve(segment.size() + node_def.size() + 64);
  pbf_writer made(bytes);
  each_field(node_def, "the node", [&](pbf_reader& field) {
    if (field.tag() != node_attr) return copy_field(field, made);
    const std::string_view entry = bytes_of(field), key = text_in(entry, entry_key);
    if (key != "serialized_segment" && key != place_attribute)
      made.add_bytes(node_attr, entry.data(), entry.size());
  });
  {
    pbf_writer entry(made, node_attr);
    entry.add_string(entry_key, "serialized_segment");
    pbf_writer value(entry, entry_value);
    value.add_bytes(value_s, segment.data(), segment.size());
  }
  return bytes;
}

std::string functions_for(std::string_view library, std::string_view name) {
  std::map<std::string_view, std::string_view> known; // functions by name
  each_field(library, "the function library", [&](pbf_reader& field) {
    if (field.tag() != library_function) return field.skip();
    const std::string_view function = bytes_of(field);
    known[text_in(text_in(function, function_signature), 1)] = function;
  });
  std::map<std::string_view, std::string_view> wanted;
  std::vector<std::string_view> open{name};
  while (!open.empty()) {
    const auto found = known.find(open.back());
    open.pop_back();
    if (found == known.end() || !wanted.insert(*found).second) continue;
    each_field(found->second, "a function", [&](pbf_reader& field) {
      if (field.tag() == function_node)
        add_callees(bytes_of(field), open);
      else
        field.skip();
    });
  }
  std::string bytes;
  pbf_writer writer(bytes);
  for (const auto& [function, body] : wanted) writer.add_bytes(library_function, body.data(), body.size());
  return bytes;
}

std::string engine_graph(std::string_view node_def, const Node& node, const std::vector<NodeShape>& shapes,
                         std::string_view functions) {
  std::string bytes;
  bytes.reserve(node_def.size() + functions.size() + 4096);
  pbf_writer graph(bytes);
  for (std::size_t i = 0; i < node.input_types.size(); ++i)
    add_placeholder(graph, input_name(i), node.input_types[i], &shapes[i]);
  {
    pbf_writer made(graph, graph_node);
    made.add_string(node_name, node.name);
    made.add_string(node_op, "TRTEngineOp");
    for (std::size_t i = 0; i < node.input_types.size(); ++i) made.add_string(node_input, input_name(i));
    each_field(node_def, "the node", [&](pbf_reader& field) {
      if (field.tag() != node_attr) return field.skip();
      const std::string_view entry = bytes_of(field);
      const std::string_view key = text_in(entry, entry_key);
      const bool dropped = key == folder_attribute || key == place_attribute ||
                           (key == "static_engine" && node.has_segment) ||
                           (key == "serialized_segment" && !node.has_segment &&
                            !is_plan(text_in(text_in(entry, entry_value), value_s)));
      if (!dropped) made.add_bytes(node_attr, entry.data(), entry.size());
    });
  }
  if (!functions.empty()) graph.add_bytes(graph_library, functions.data(), functions.size());
  add_versions(graph);
  return bytes;
}

NativeGraph native_graph(std::string_view engine_graph) {
  std::string_view engine, library;
  each_field(engine_graph, "the graph", [&](pbf_reader& field) {
    if (field.tag() != graph_node && field.tag() != graph_library) return field.skip();
    const auto tag = field.tag();
    const std::string_view message = bytes_of(field);
    if (tag == graph_library)
      library = message;
    else if (text_in(message, node_op) == "TRTEngineOp")
      engine = message;
  });
  const Node node = read_node(engine);
  if (!node.has_segment) return graph_of_function(node, library);
  NativeGraph made;
  each_attribute(engine, [&](std::string_view key, std::string_view value) {
    if (key == "serialized_segment") made = graph_of_segment(text_in(value, value_s));
  });
  errors::check(made.inputs.size() == node.input_types.size() &&
                    made.outputs.size() == node.output_types.size(),
                ErrorCode::bad_data, "the native segment has {} inputs and {} outputs, the node {} and {}",
                made.inputs.size(), made.outputs.size(), node.input_types.size(), node.output_types.size());
  return made;
}

} // namespace lanner::tensorflow_ops
