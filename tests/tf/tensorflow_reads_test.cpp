// Files of graphs, models, checkpoints and events as TensorFlow itself reads them, where it is installed.

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include <lanner/tf_records.h>

#include "base/file/file.h"
#include "expect_error.h"
#include "importers/importing.h"
#include "source_dir.h"
#include "temporary_folder.h"
#include "tensor/cast.h"
#include "tf/write/checkpoint.h"
#include "tf/write/engine_node.h"
#include "tf/write/event_file.h"
#include "tf/write/saved_model.h"

namespace lanner::test {
namespace {

using namespace tf;

Tensor floats(std::vector<float> values, Shape shape) {
  return Tensor::from<float>(values, std::move(shape));
}
Tensor texts(std::vector<std::string> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from<std::string>(values, Shape{count});
}

NodeRecord constant(const std::string& name, const Tensor& value) {
  return {name, "Const", "", {}, {{"dtype", data_type_of(value.dtype())}, {"value", value}}};
}
NodeRecord typed(const std::string& name, const std::string& op, std::vector<std::string> inputs) {
  return {name, op, "", std::move(inputs), {{"T", DataType::f32}}};
}
NodeRecord placeholder(const std::string& name) {
  return {name, "Placeholder", "", {}, {{"dtype", DataType::f32}, {"shape", PartialShape{{{-1, 2}}}}}};
}

/// y = 2 * x
FunctionRecord scaled() {
  FunctionRecord function;
  function.name = "scaled";
  function.inputs = {{"x", DataType::f32, {{"_user_specified_name", std::string("x")}}}};
  function.outputs = {{"y", DataType::f32, {}}};
  function.nodes = {constant("two", Tensor::scalar(2.0f)), typed("mul", "Mul", {"x", "two:output:0"})};
  function.results = {{"y", "mul:z:0"}};
  return function;
}

/// relu(scaled(x w + b)), and constants.
GraphRecord small_graph() {
  FunctionRecord kept = scaled();
  kept.name = "kept";
  GraphRecord graph;
  graph.functions = {scaled()};
  graph.other_functions = {{serialized(kept)}};
  graph.nodes = {placeholder("x"),
                 constant("w", floats({1, 2, 3, 4}, {2, 2})),
                 typed("product", "MatMul", {"x", "w"}),
                 constant("b", floats({10, 20}, {2})),
                 typed("sum", "BiasAdd", {"product", "b"}),
                 {"call", "PartitionedCall", "", {"sum", "^b"}, {}},
                 typed("relu", "Relu", {"call"})};
  Attributes& call = graph.nodes[5].attributes;
  call["Tin"] = std::vector{DataType::f32};
  call["Tout"] = std::vector{DataType::f32};
  call["f"] = FunctionName{"scaled"};
  return graph;
}

GraphRecord graph_with_constants() {
  GraphRecord graph = small_graph();
  graph.nodes.push_back(constant("text", texts({"one", "", std::string("\0\xff", 2)})));
  graph.nodes.push_back(constant("empty", Tensor::zeros(DType::i64, {0, 3})));
  graph.nodes.push_back(constant("scalar", Tensor::scalar(std::int32_t{7})));
  return graph;
}

GraphRecord graph_of_attributes() {
  NodeRecord node{"n", "Unknown", "/device:CPU:0", {"a", "b:1", "^c"}, {}};
  Attributes& to = node.attributes;
  to["text"] = std::string("\0x", 2);
  to["integer"] = std::int64_t{-5};
  to["real"] = 0.5f;
  to["flag"] = false;
  to["type"] = DataType::i64;
  to["shape"] = PartialShape{{{-1, 3}}};
  to["scalar_shape"] = PartialShape{std::vector<std::int64_t>{}};
  to["any_shape"] = PartialShape{};
  const std::vector<Half> halves{Half(1), Half(2), Half(3)};
  to["tensor"] = Tensor::from<Half>(halves, {3});
  to["function"] = FunctionName{"f"};
  to["texts"] = std::vector<std::string>{"a", ""};
  to["integers"] = std::vector<std::int64_t>{1, -1};
  to["reals"] = std::vector<float>{0.25f};
  to["flags"] = std::vector<bool>{true, false};
  to["types"] = std::vector{DataType::f32, DataType::i32};
  to["shapes"] = std::vector<PartialShape>{{{{5}}}, {std::vector<std::int64_t>{}}, {}};
  to["functions"] = std::vector<FunctionName>{{"f"}, {"g"}};
  to["nothing"] = std::vector<std::int64_t>{};
  to["reference"] = AttributeReference{"T"};
  to["raw"] = RawMessage{serialized(AttrValue(std::string("kept")))};
  return {{node}, {}, {}};
}

GraphRecord graph_of_engines() {
  EngineNode engine;
  engine.name = "TRTEngineOp_000_000";
  engine.inputs = {"x", "n"};
  engine.input_types = {DataType::f32, DataType::i32};
  engine.output_types = {DataType::f32};
  engine.input_shapes = {{{{-1, 2}}}, {std::vector<std::int64_t>{}}};
  engine.segment_function = engine.name + "_native_segment";
  engine.precision = "INT8";
  engine.calibration_data = "TRT-8401";
  EngineNode first = engine;
  first.name = "TRTEngineOp_0";
  first.segment_function = first.name + "_native_segment";
  return {{engine_node(engine), engine_node(first, EngineAttributes::first)}, {}, {}};
}

/// y = x v, with the variable v restored from a checkpoint, and a file in assets/.
MetaGraphRecord meta_graph() {
  MetaGraphRecord meta;
  meta.tensorflow_version = "2.15.0";
  meta.function_aliases = {{"called", "scaled"}};
  meta.graph.functions = {scaled()};
  const std::vector<DataType> f32{DataType::f32};
  meta.graph.nodes = {
      placeholder("x"),
      {"v",
       "VarHandleOp",
       "",
       {},
       {{"dtype", DataType::f32}, {"shape", PartialShape{{{2, 2}}}}, {"shared_name", std::string("v")}}},
      {"read", "ReadVariableOp", "", {"v"}, {{"dtype", DataType::f32}}},
      typed("y", "MatMul", {"x", "read"}),
      constant("asset", Tensor::scalar(std::string("labels.txt"))),
      constant("save/name", Tensor::scalar(std::string("model"))),
      constant("save/keys", texts({"v"})),
      constant("save/slices", texts({""})),
      {"save/SaveV2", "SaveV2", "", {"save/name", "save/keys", "save/slices", "read"}, {{"dtypes", f32}}},
      {"save/done", "Identity", "", {"save/name", "^save/SaveV2"}, {{"T", DataType::string}}},
      {"save/RestoreV2", "RestoreV2", "", {"save/name", "save/keys", "save/slices"}, {{"dtypes", f32}}},
      {"save/assign", "AssignVariableOp", "", {"v", "save/RestoreV2"}, {{"dtype", DataType::f32}}},
      {"save/restore_all", "NoOp", "", {"^save/assign"}, {}}};
  meta.saver = SaverRecord{"save/name:0", "save/done:0", "save/restore_all"};
  meta.assets = {{"asset:0", "labels.txt"}};
  SignatureRecord& signature = meta.signatures["serving_default"];
  signature.inputs["x"] = {"x:0", DataType::f32, {{{-1, 2}}}};
  signature.outputs["y"] = {"y:0", DataType::f32, {{{-1, 2}}}};
  return meta;
}

void write_checkpoints(const std::filesystem::path& folder) {
  std::map<std::string, Tensor> tensors;
  for (int i = 0; i < 900; ++i)
    tensors[fmt::format("{:03}", i) + std::string(400, 'k')] = Tensor::scalar(std::int32_t{i});
  const Tensor values = floats({1, 0, 1}, {1, 3});
  for (const DType type :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i64, DType::boolean}) {
    Tensor cast = Tensor::allocate(type, values.shape());
    copy_tensor(values, cast, CastRules{});
    tensors["types/" + std::string(to_string(type))] = cast;
  }
  tensors["text"] = texts({"", std::string(300, 'x'), std::string(1, '\0')});
  tensors["scalar"] = Tensor::scalar(7.0f);
  tensors["nothing"] = Tensor::zeros(DType::f32, {0, 4});
  write_checkpoint(folder / "all", tensors);
  write_checkpoint(folder / "none", {});
}

void save(const std::filesystem::path& path, const std::string& bytes) {
  write_file(path, std::as_bytes(std::span(bytes)));
}

void write_all(const std::filesystem::path& folder) {
  const std::string graph = serialized(graph_with_constants());
  save(folder / "graph.pb", graph);
  save(folder / "attributes.pb", serialized(graph_of_attributes()));
  save(folder / "engines.pb", serialized(graph_of_engines()));
  FunctionRecord function = scaled();
  function.stateful = true;
  function.control_outputs = {"done"};
  function.control_results = {{"done", "work"}};
  save(folder / "function.pb", serialized(function));
  write_saved_model(folder / "saved_model", meta_graph());
  std::filesystem::create_directories(folder / "saved_model/assets");
  save(folder / "saved_model/assets/labels.txt", "labels");
  write_checkpoint(folder / "saved_model/variables/variables", {{"v", floats({5, 6, 7, 8}, {2, 2})}});
  write_checkpoints(folder / "checkpoint");
  write_graph_event_file(folder / event_file_name(1700000000.5, "lanner"), graph, 1700000000.5);
}

void expect_records(const std::filesystem::path& path) {
  RecordReader reader(open_path(path));
  for (int i = 0; i < 50; ++i) {
    const auto record = reader.next();
    ASSERT_TRUE(record);
    const Example example = read_example(*record);
    const auto text = std::get<std::vector<std::string>>(example.at("text"));
    EXPECT_EQ(text, std::vector<std::string>(static_cast<std::size_t>(i), std::to_string(i)));
    const auto numbers = std::get<std::vector<std::int64_t>>(example.at("number"));
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(2 * i));
    EXPECT_TRUE(i == 0 || numbers[0] == -i);
    EXPECT_EQ(std::get<std::vector<float>>(example.at("real")),
              std::vector<float>{static_cast<float>(i) / 4});
  }
  EXPECT_FALSE(reader.next());
}

using Message = protozero::pbf_reader;

/// A node with its attributes as they are.
NodeRecord node_of(Message message) {
  NodeRecord node;
  while (message.next()) {
    switch (message.tag()) {
    case 1:
      node.name = message.get_string();
      break;
    case 2:
      node.op = message.get_string();
      break;
    case 3:
      node.inputs.push_back(message.get_string());
      break;
    case 4:
      node.device = message.get_string();
      break;
    case 5: {
      Message entry = message.get_message();
      entry.next(1);
      const std::string key = entry.get_string();
      entry.next(2);
      node.attributes[key] = RawMessage{entry.get_bytes()};
      break;
    }
    default:
      message.skip();
    }
  }
  return node;
}

GraphRecord graph_of(Message message) {
  GraphRecord graph;
  while (message.next()) {
    if (message.tag() == 1) {
      graph.nodes.push_back(node_of(message.get_message()));
    } else if (message.tag() == 2) {
      Message library = message.get_message();
      while (library.next(1)) graph.other_functions.push_back({library.get_bytes()});
    } else {
      message.skip();
    }
  }
  return graph;
}

/// Reads saved_model.pb and writes it again, the graph as records.
void rewrite(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::create_directories(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  const Content content = read_all(open_path(from / "saved_model.pb"));
  Message saved_model(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
  saved_model.next(2);
  Message message = saved_model.get_message();
  MetaGraphRecord meta;
  while (message.next()) {
    if (message.tag() == 2)
      meta.graph = graph_of(message.get_message());
    else if (message.tag() == 7)
      meta.object_graph = RawMessage{message.get_bytes()};
    else
      message.skip();
  }
  ASSERT_TRUE(meta.object_graph);
  meta.saver = SaverRecord{"saver_filename:0", "StatefulPartitionedCall:0", "StatefulPartitionedCall_1"};
  std::filesystem::remove(to / "fingerprint.pb");
  write_saved_model(to, meta);
}

void run_tensorflow(const char* python, std::string_view what, const TemporaryFolder& folder) {
  const std::string said = folder / "said";
  const std::string script = (source_dir() / "tests/tf/tensorflow_reads.py").string();
  const std::string command =
      fmt::format("CUDA_VISIBLE_DEVICES= TF_CPP_MIN_LOG_LEVEL=3 '{}' '{}' {} '{}' >'{}' 2>&1", python, script,
                  what, folder.path().string(), said);
  const int status = std::system(command.c_str());
  std::ifstream output(said);
  ASSERT_EQ(status, 0) << std::string(std::istreambuf_iterator<char>(output), {});
}

TEST(TensorFlowFiles, TensorFlowReadsWhatIsWritten) {
  const char* python = std::getenv("LANNER_TENSORFLOW_PYTHON");
  if (!python || !*python) GTEST_SKIP() << "LANNER_TENSORFLOW_PYTHON names no Python with TensorFlow";
  const TemporaryFolder folder;
  ASSERT_NO_FATAL_FAILURE(run_tensorflow(python, "make", folder));
  expect_records(folder / "made.tfrecord");
  ASSERT_NO_FATAL_FAILURE(rewrite(folder / "made", folder / "rewritten"));
  write_all(folder.path());
  run_tensorflow(python, "check", folder);
}

TEST(TensorFlowFiles, OurImporterReadsAndRunsAWrittenGraph) {
  const std::string file = serialized(small_graph());
  EXPECT_EQ(result(file, {floats({1, 2, -3, 4}, {2, 2})}), "f32[2, 2](34, 60, 38, 60)");
}

TEST(TensorFlowFiles, EqualRecordsGiveEqualBytes) {
  EXPECT_EQ(serialized(graph_with_constants()), serialized(graph_with_constants()));
  EXPECT_EQ(serialized(meta_graph()), serialized(meta_graph()));
}

TEST(TensorFlowFiles, GraphsThatProtobufCannotReadAreRefusedBeforeMemoryIsTaken) {
  float unread = 0;
  const Tensor half = Tensor::wrap(&unread, DType::f32, {1 << 28}, nullptr);
  GraphRecord graph;
  graph.nodes = {constant("a", half), constant("b", half)};
  LANNER_EXPECT_ERROR(serialized(graph), ErrorCode::limit_exceeded, "protobuf reads messages of 2147483647");
  MetaGraphRecord meta;
  meta.graph = graph;
  LANNER_EXPECT_ERROR(serialized(meta), ErrorCode::limit_exceeded, "keep the weights in variables");
}

TEST(TensorFlowFiles, AnUnwritableFolderLeavesNothing) {
  const TemporaryFolder folder;
  folder.write("file", "x");
  LANNER_EXPECT_ERROR(write_saved_model(folder / "file", meta_graph()), ErrorCode::io, "cannot be made");
  LANNER_EXPECT_ERROR(write_checkpoint(folder / "file/variables", {}), ErrorCode::io, "cannot be made");
  Tensor packed = Tensor::zeros(DType::i4, {2});
  LANNER_EXPECT_ERROR(write_checkpoint(folder / "part/variables", {{"a", floats({1}, {1})}, {"b", packed}}),
                      ErrorCode::unsupported, "tensor b: TensorFlow's tensors have no type i4");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "part"));
}

TEST(TensorFlowFiles, EnginesWithUnequalListsAreRefused) {
  EngineNode engine;
  engine.input_types = {DataType::f32};
  engine.input_shapes.resize(2);
  LANNER_EXPECT_ERROR(engine_node(engine), ErrorCode::invalid_argument, "1 types and 2 shapes");
}

} // namespace
} // namespace lanner::test
