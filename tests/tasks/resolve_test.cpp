// Tasks resolved from given fields, metadata, and the outputs' names and shapes.

#include "base/text/literal.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "tasks/declare/metadata.h"
#include "tasks/task_run.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using Metadata = std::map<std::string, std::string>;

Binding output(const std::string& name, std::vector<std::int64_t> dims, DType dtype = DType::f32) {
  Binding binding;
  binding.name = name;
  binding.dims = std::move(dims);
  binding.dtype = dtype;
  for (const std::int64_t dim : binding.dims)
    binding.dim_names.push_back(dim < 0 ? "N" : std::to_string(dim));
  return binding;
}

struct Network {
  std::vector<Binding> outputs;
  std::int64_t width = 640, height = 640;
};

ResolvedTask found(const Network& network, const Metadata& metadata = {}, const Task& given = {}) {
  tasks::Facts facts;
  facts.outputs = network.outputs;
  facts.width = network.width;
  facts.height = network.height;
  facts.wanted = given;
  return tasks::resolve(facts, metadata);
}

/// This many labels, one a line.
std::string lines_of(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += "class" + std::to_string(i) + "\n";
  return lines;
}

std::string summary(const ResolvedTask& resolved) {
  std::string text(to_string(*resolved.task.kind));
  return resolved.task.head ? text + " " + std::string(to_string(*resolved.task.head)) : text;
}

const char* const coco_names = "{0: 'person', 1: \"it's\", 2: 'a b'}";

TEST(ResolveTask, UltralyticsMetadataIsRead) {
  const Metadata metadata{
      {"task", "detect"}, {"names", coco_names}, {"stride", "32"}, {"imgsz", "[640, 640]"}};
  const ResolvedTask resolved = found({{output("output0", {1, 7, 8400})}}, metadata);
  EXPECT_EQ(summary(resolved), "detect yolo_v8");
  EXPECT_EQ(resolved.task.labels, (std::vector<std::string>{"person", "it's", "a b"}));
  EXPECT_EQ(*resolved.task.score_threshold, 0.25f);
  EXPECT_EQ(*resolved.task.iou_threshold, 0.7f);
  EXPECT_EQ(resolved.reason,
            "detect, head yolo_v8, 3 classes, by the model's metadata (names, task) and the outputs' shapes");
  // YOLOv5 has only names and stride.
  const Metadata less{{"names", "['a', 'b', 'c']"}, {"stride", "32"}};
  EXPECT_EQ(summary(found({{output("output0", {1, 25200, 8})}}, less)), "detect yolo_v5");
  EXPECT_EQ(summary(found({{output("output0", {1, 25200, 40}), output("output1", {1, 32, 160, 160})}}, less)),
            "segment yolo_v5");
}

TEST(ResolveTask, UltralyticsMetadataOfOtherKindsIsRead) {
  const auto with = [](const char* task, const char* points = nullptr) {
    Metadata metadata{{"task", task}, {"names", coco_names}, {"stride", "32"}};
    if (points) metadata["kpt_shape"] = points;
    return metadata;
  };
  EXPECT_EQ(summary(found({{output("o", {1, 39, 8400}), output("p", {1, 32, 160, 160})}}, with("segment"))),
            "segment yolo_v8");
  const ResolvedTask pose = found({{output("o", {1, 58, 8400})}}, with("pose", "[17, 3]"));
  EXPECT_EQ(summary(pose), "pose yolo_v8");
  EXPECT_EQ(*pose.task.keypoints, 17);
  EXPECT_EQ(*pose.task.keypoint_values, 3);
  EXPECT_EQ(summary(found({{output("o", {1, 8, 8400})}}, with("obb"))), "obb yolo_v8");
  EXPECT_EQ(summary(found({{output("o", {1, 3})}}, with("classify"))), "classify");
  EXPECT_EQ(summary(found({{output("o", {1, 300, 6})}}, with("detect"))), "detect yolo_v10");
  EXPECT_EQ(summary(found({{output("o", {1, 300, 7})}}, with("obb"))), "obb yolo_v10");
  EXPECT_EQ(summary(found({{output("o", {1, 300, 57})}}, with("pose", "(17, 3)"))), "pose yolo_v10");
  // RT-DETR as ultralytics exports it: edges of 0..1 and probabilities in one output.
  const ResolvedTask rt = found({{output("o", {1, 300, 7})}}, with("detect"));
  EXPECT_EQ(summary(rt), "detect rt_detr");
  EXPECT_EQ(*rt.task.activation, Activation::none);
}

TEST(ResolveTask, AmbiguousSixNumbersAreAnError) {
  const Metadata metadata{{"task", "detect"}, {"names", "{0: 'a', 1: 'b'}"}, {"stride", "32"}};
  LANNER_EXPECT_ERROR(found({{output("o", {1, 300, 6})}}, metadata), ErrorCode::invalid_argument,
                      "detect by head yolo_v10, or detect by head rt_detr (2 classes)");
  Metadata ends = metadata;
  ends["end2end"] = "True";
  EXPECT_EQ(summary(found({{output("o", {1, 300, 6})}}, ends)), "detect yolo_v10");
}

TEST(ResolveTask, ShapesWithOneReadingAreResolved) {
  struct Case {
    Network network;
    const char* summary;
  };
  const Case cases[] = {
      {{{output("o", {1, 1000})}}, "classify"},
      {{{output("o", {-1, 1000, 1, 1})}}, "classify"},
      {{{output("o", {1000})}}, "classify"},
      {{{output("o", {1, 84, 8400})}}, "detect yolo_v8"},
      {{{output("o", {1, 84, -1})}, 0, 0}, "detect yolo_v8"},
      {{{output("o", {1, 84, 8400})}, 0, 0}, "detect yolo_v8"},
      {{{output("o", {1, 84, 6300})}, 640, 480}, "detect yolo_v8"},
      {{{output("o", {1, 25200, 85})}}, "detect yolo_v5"},
      {{{output("o", {1, 116, 8400}), output("p", {1, 32, 160, 160})}}, "segment yolo_v8"},
      {{{output("o", {1, 300, 6})}}, "detect yolo_v10"},
      {{{output("o", {1, 300, 38}), output("p", {1, 32, 160, 160})}}, "segment yolo_v10"},
      {{{output("a", {1, 3, 80, 80, 85}), output("b", {1, 3, 40, 40, 85})}}, nullptr},
      {{{output("boxes", {-1, 4}), output("labels", {-1}, DType::i64), output("scores", {-1})}},
       "detect torchvision"},
      {{{output("1", {-1, 4}), output("2", {-1}, DType::i64), output("3", {-1}),
         output("4", {-1, 1, -1, -1})}},
       "segment torchvision"},
      {{{output("1", {-1, 4}), output("2", {-1}, DType::i64), output("3", {-1}), output("4", {-1, 17, 3}),
         output("5", {-1, 17})}},
       "pose torchvision"},
      {{{output("out", {1, 21, 520, 520}), output("aux", {1, 21, 520, 520})}, 520, 520}, "semantic"},
      {{{output("logits", {1, 150, 128, 128})}, 512, 512}, "semantic"},
      {{{output("o", {1, 512, 512, 19})}, 512, 512}, "semantic"},
      {{{output("o", {1, 512, 512}, DType::i64)}, 512, 512}, "semantic"},
      {{{output("predicted_depth", {1, 384, 384})}, 384, 384}, "depth"},
      {{{output("o", {1, 224, 224, 3}, DType::u8)}, 224, 224}, "image"},
      // Features, sequences and single numbers have no known meaning.
      {{{output("o", {1, 1})}}, "none"},
      {{{output("o", {1, 197, 768})}, 224, 224}, "none"},
      {{{output("o", {1, 2048, 7, 7})}, 224, 224}, "none"},
      {{{output("o", {1, 2, 224, 224})}, 224, 224}, "none"},
      {{{output("o", {1, 1000}), output("p", {1, 1000})}}, "none"},
      {{}, "none"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(tasks::outputs_text(one.network.outputs));
    if (one.summary)
      EXPECT_EQ(summary(found(one.network)), one.summary);
    else
      LANNER_EXPECT_ERROR(found(one.network), ErrorCode::invalid_argument, "anchors are missing");
  }
}

TEST(ResolveTask, ShapesWithSeveralReadingsAreErrors) {
  struct Case {
    Network network;
    std::vector<const char*> said;
  };
  const Case cases[] = {
      {{{output("o", {1, 3, 224, 224})}, 224, 224}, {"semantic (3 classes)", "image", "task none"}},
      {{{output("o", {1, 1, 224, 224})}, 224, 224}, {"semantic (2 classes)", "depth", "image"}},
      {{{output("o", {1, 384, 384})}, 384, 384}, {"depth", "image"}},
      {{{output("o", {1, 3, 448, 448})}, 224, 224}, {"semantic", "image"}},
      {{{output("pred_boxes", {1, 100, 4}), output("logits", {1, 100, 92})}},
       {"detr (91 classes)", "rt_detr (92 classes)"}},
      {{{output("a", {1, 100, 4}), output("b", {1, 100, 92})}},
       {"boxes_scores (92 classes)", "detr", "rt_detr"}},
      {{{output("o", {1, 56, 8400})}},
       {"detect by head yolo_v8 (52 classes)", "pose by head yolo_v8 (1 class)", "17"}},
      {{{output("o", {1, 20, 8400})}},
       {"detect by head yolo_v8 (16 classes)", "pose by head yolo_v8 (1 class) and 5 key points of 3 values",
        "obb by head yolo_v8 (15 classes)"}},
      {{{output("o", {1, 68, 8400})}},
       {"detect by head yolo_v8 (64 classes)",
        "pose by head yolo_v8 (1 class) and 21 key points of 3 values"}},
      {{{output("o", {1, 8400, 85})}}, {"yolo_v5 (80 classes)", "yolo_v8 (81 classes)"}},
      {{{output("num_detections", {1, 1}, DType::i32), output("detection_boxes", {1, 9, 4}),
         output("detection_scores", {1, 9}), output("detection_classes", {1, 9}, DType::i32)}},
       {"tensorflow", "efficient_nms"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(tasks::outputs_text(one.network.outputs));
    for (const char* said : one.said)
      LANNER_EXPECT_ERROR(found(one.network), ErrorCode::invalid_argument, said);
    Task none;
    none.kind = TaskKind::none;
    EXPECT_EQ(summary(found(one.network, {}, none)), "none");
  }
}

TEST(ResolveTask, LabelCountDecidesBetweenReadings) {
  Task given;
  given.labels.assign(80, "x");
  EXPECT_EQ(summary(found({{output("o", {1, 8400, 85})}}, {}, given)), "detect yolo_v5");
  EXPECT_EQ(summary(found({{output("o", {1, 8400, 84})}}, {}, given)), "detect yolo_v8");
  EXPECT_EQ(summary(found({{output("o", {1, 85, 8400})}}, {}, given)), "obb yolo_v8");
  for (const auto& [labels, expected] :
       {std::pair(16, "detect yolo_v8"), std::pair(15, "obb yolo_v8"), std::pair(1, "pose yolo_v8")}) {
    Task some;
    some.labels.assign(static_cast<std::size_t>(labels), "x");
    EXPECT_EQ(summary(found({{output("o", {1, 20, 8400})}}, {}, some)), expected);
  }
  const std::vector<Binding> pair{output("pred_boxes", {1, 300, 4}), output("logits", {1, 300, 80})};
  EXPECT_EQ(summary(found({pair}, {}, given)), "detect rt_detr");
  given.labels.resize(79);
  const ResolvedTask detr = found({pair}, {}, given);
  EXPECT_EQ(summary(detr), "detect detr");
  EXPECT_EQ(*detr.task.background, 79);
  EXPECT_FALSE(detr.task.iou_threshold.has_value());
  // Labels from metadata decide as well.
  EXPECT_EQ(summary(found({pair}, {{"labels", lines_of(80)}})), "detect rt_detr");
  EXPECT_EQ(summary(found({pair}, {{"labels", lines_of(79)}})), "detect detr");
  LANNER_EXPECT_ERROR(found({pair}, {{"labels", lines_of(3)}}), ErrorCode::invalid_argument, "rt_detr");
  given.labels.resize(3);
  EXPECT_EQ(summary(found({pair}, {}, given)), "none");
  given.kind = TaskKind::detect;
  LANNER_EXPECT_ERROR(found({pair}, {}, given), ErrorCode::invalid_argument, "there are 3 labels");
  given.head = Head::rt_detr;
  LANNER_EXPECT_ERROR(found({pair}, {}, given), ErrorCode::invalid_argument,
                      "labels: 3 were given, the model has 80");
}

TEST(ResolveTask, ListsWithABatchNeedFirstClass) {
  const Network network{
      {output("boxes", {1, 100, 4}), output("labels", {1, 100}, DType::i64), output("scores", {1, 100})}};
  LANNER_EXPECT_ERROR(found(network), ErrorCode::invalid_argument,
                      "give first_class, by task JSON: {\"first_class\": 1}");
  Task given;
  given.first_class = 0;
  EXPECT_EQ(found(network, {}, given).task.first_class, 0);
  given = {};
  given.labels = {"__background__", "car"};
  const Task task = found(network, {}, given).task;
  EXPECT_EQ(task.first_class, 0);
  EXPECT_EQ(task.background, 0);
}

TEST(ResolveTask, GivenFieldsOverrideMetadata) {
  const Metadata own{
      {"lanner.task", R"({"task": "detect", "head": "yolo_v8", "score_threshold": 0.5, "labels": ["a"]})"}};
  const Network network{{output("o", {1, 5, 8400})}};
  EXPECT_EQ(*found(network, own).task.score_threshold, 0.5f);
  Task given;
  given.score_threshold = 0.125f;
  const ResolvedTask resolved = found(network, own, given);
  EXPECT_EQ(*resolved.task.score_threshold, 0.125f);
  EXPECT_EQ(resolved.task.labels, std::vector<std::string>{"a"});
  EXPECT_EQ(resolved.reason,
            "detect, head yolo_v8, 1 class, by what was given, the model's metadata (lanner.task) and "
            "the outputs' shapes");
  // For another kind only the labels are used.
  given = {};
  given.kind = TaskKind::none;
  EXPECT_EQ(summary(found(network, own, given)), "none");
  // Resolving a resolved task does not change it.
  EXPECT_EQ(found(network, own, resolved.task).task, resolved.task);
}

TEST(ResolveTask, FormsThatAHeadCannotReadAreRefused) {
  const auto given = [](Head head) {
    Task task;
    task.kind = TaskKind::detect;
    task.head = head;
    return task;
  };
  Task task = given(Head::yolo_v8);
  const Network yolo{{output("output0", {1, 7, 8400})}};
  task.activation = Activation::sigmoid;
  EXPECT_EQ(*found(yolo, {}, task).task.activation, Activation::sigmoid);
  task.activation = Activation::softmax;
  LANNER_EXPECT_ERROR(found(yolo, {}, task), ErrorCode::invalid_argument,
                      "task detect, head yolo_v8: activation is softmax, expected none or sigmoid");
  const Network pair{{output("boxes", {1, 2, 4}), output("scores", {1, 2, 3})}};
  for (const Head head : {Head::ssd, Head::retinanet}) {
    task = given(head);
    task.anchors.assign(8, 1.f);
    task.activation = Activation::softmax;
    EXPECT_EQ(*found(pair, {}, task).task.box_form, BoxForm::cxcywh);
    task.box_form = BoxForm::yxyx;
    EXPECT_EQ(*found(pair, {}, task).task.box_form, BoxForm::yxyx);
    for (const BoxForm form : {BoxForm::xyxy, BoxForm::xywh}) {
      task.box_form = form;
      LANNER_EXPECT_ERROR(found(pair, {}, task), ErrorCode::invalid_argument,
                          "expected cxcywh (offsets of x, y, width, height) or yxyx");
    }
  }
}

TEST(ResolveTask, OlderMetadataKeysStillWork) {
  const Metadata older{{"lanner.task", "detect"},
                       {"lanner.labels", "a\nb\n"},
                       {"lanner.boxes", "cxcywh-normalised"},
                       {"lanner.iou_threshold", "0.75"}};
  const Network network{{output("boxes", {-1, 300, 4}), output("scores", {-1, 300, 2})}};
  const Task task = found(network, older).task;
  EXPECT_EQ(*task.head, Head::boxes_scores);
  EXPECT_EQ(*task.box_form, BoxForm::cxcywh);
  EXPECT_TRUE(*task.box_normalised);
  EXPECT_TRUE(*task.class_agnostic);
  EXPECT_EQ(*task.score_threshold, 0.4f);
  EXPECT_EQ(*task.iou_threshold, 0.75f);
  EXPECT_EQ(task.labels, (std::vector<std::string>{"a", "b"}));
  for (const auto& [key, value] : Metadata{{"lanner.boxes", "corners"},
                                           {"lanner.boxes", "yxyx-pixels"},
                                           {"lanner.iou_threshold", "much"},
                                           {"lanner.score_threshold", "7"},
                                           {"lanner.task", "{\"head\": \"dter\"}"}}) {
    Metadata wrong = older;
    wrong[key] = value;
    LANNER_EXPECT_ERROR(found(network, wrong), ErrorCode::bad_data, "metadata " + key);
  }
}

TEST(ResolveTask, LabelsOfCommonKeysAreUsedIfTheirCountFits) {
  const Network network{{output("o", {1, 3})}};
  for (const char* text : {"a\nb\nc\n", "['a', 'b', 'c']", "{0: 'a', 1: 'b', 2: 'c'}", R"(["a", "b", "c"])"})
    EXPECT_EQ(found(network, {{"labels", text}}).task.labels, (std::vector<std::string>{"a", "b", "c"}))
        << text;
  const ResolvedTask hugging =
      found(network, {{"id2label", R"({"0": "a", "2": "\u00e9", "1": "b"})"}, {"labels", "x\ny\nz"}});
  EXPECT_EQ(hugging.task.labels, (std::vector<std::string>{"a", "b", "é"}));
  EXPECT_NE(hugging.reason.find("id2label"), std::string::npos) << hugging.reason;
  EXPECT_TRUE(found(network, {{"id2label", R"({"1": "a", "2": "b", "3": "c"})"}}).task.labels.empty());
  EXPECT_TRUE(found(network, {{"classes", "a\nb"}}).task.labels.empty());
  EXPECT_TRUE(found(network, {{"labels", "{broken"}}).task.labels.empty());
}

TEST(ResolveTask, OutputsMayBeNamed) {
  const Network network{{output("x", {1, 84, 8400}), output("y", {1, 84, 8400})}};
  EXPECT_EQ(summary(found(network)), "none");
  Task given = task_of(TaskKind::detect, Head::yolo_v8);
  LANNER_EXPECT_ERROR(found(network, {}, given), ErrorCode::invalid_argument,
                      "expected one output [N, 4 + C + extra, A]");
  given.outputs = {{"boxes", "y"}};
  EXPECT_EQ(found(network, {}, given).task.outputs.at("boxes"), "y");
  given.outputs = {{"boxes", "z"}};
  LANNER_EXPECT_ERROR(found(network, {}, given), ErrorCode::invalid_argument,
                      "outputs.boxes is 'z', the model has x:");
  given.outputs = {{"boxes", "y"}, {"bxes", "x"}};
  LANNER_EXPECT_ERROR(found(network, {}, given), ErrorCode::invalid_argument, "the unknown part 'bxes'");
}

TEST(ResolveTask, FieldsThatDoNotApplyAreRefused) {
  const Network network{{output("o", {1, 1000})}};
  Task given;
  given.score_threshold = 0.5f;
  LANNER_EXPECT_ERROR(found(network, {}, given), ErrorCode::invalid_argument,
                      "task classify: score_threshold does not apply");
  given = {};
  given.anchors = {1, 2, 3, 4};
  LANNER_EXPECT_ERROR(found({{output("o", {1, 84, 8400})}}, {}, given), ErrorCode::invalid_argument,
                      "anchors does not apply");
  given = {};
  given.iou_threshold = 7;
  LANNER_EXPECT_ERROR(found(network, {}, given), ErrorCode::invalid_argument, "expected 0 to 1");
}

TEST(ResolveTask, MalformedMetadataIsAnErrorWithTheKey) {
  const Network network{{output("o", {1, 7, 8400})}};
  for (const char* names : {"{0: 'a'", "{0: 'a', 2: 'b'}", "{0: 1}", "5", "'a'", "{0: 'a', 0: 'b'}", "[[1]]",
                            "", "{99999999999999999999: 'a'}", "{-1: 'a'}", "{0: 'a'} x"}) {
    SCOPED_TRACE(names);
    LANNER_EXPECT_ERROR(found(network, {{"names", names}, {"stride", "32"}}), ErrorCode::bad_data,
                        "metadata names");
  }
  for (const char* points : {"[17]", "[17, 4]", "[0, 3]", "[1e9, 3]", "[17, 3", "None"}) {
    SCOPED_TRACE(points);
    LANNER_EXPECT_ERROR(found(network, {{"names", coco_names}, {"stride", "32"}, {"kpt_shape", points}}),
                        ErrorCode::bad_data, "metadata kpt_shape");
  }
  LANNER_EXPECT_ERROR(found(network, {{"names", coco_names}, {"stride", "32"}, {"task", "segmnt"}}),
                      ErrorCode::bad_data, "did you mean segment?");
  const std::string deep(100, '[');
  LANNER_EXPECT_ERROR(found(network, {{"names", deep}, {"stride", "32"}}), ErrorCode::limit_exceeded,
                      "depth");
}

TEST(PythonLiterals, AreParsedAsPythonDoes) {
  EXPECT_EQ(parse_literal(" {0: 'a', 'k' : [1, -2.5, (), (3,)], } ").dump(),
            R"({"0":"a","k":[1,-2.5,[],[3]]})");
  EXPECT_EQ(parse_literal(R"(['it\'s', "a\"b", '\x41\u00e9\U0001F600\n', True, False, None])"),
            nlohmann::json::parse(R"(["it's", "a\"b", "Aé😀\n", true, false, null])"));
  for (const char* text : {"", "{", "[1", "[1 2]", "'a", "'\\q'", "'\\x4'", "'\\ud800'", "inf", "nan", "-",
                           "tru", "{1.5: 2}", "{[]: 2}", "{1 2}", "(1", "'a\nb'", "[,]", "0x10"})
    LANNER_EXPECT_ERROR(parse_literal(text), ErrorCode::bad_data, "literal: byte");
  Limits limits;
  limits.nodes = 3;
  LANNER_EXPECT_ERROR(parse_literal("[1, 2, 3]", limits), ErrorCode::limit_exceeded, "nodes");
}

/// [N, 3, size, size] to its mean over all pixels: [N, 3].
Engine mean_network(const Metadata& metadata = {}) {
  namespace of = onnx_file;
  std::string model = of::model(of::graph({.nodes = {of::node({"GlobalAveragePool", {"x"}, {"y"}})},
                                           .inputs = {of::value("x", of::f32, {"1", "3", "8", "8"})},
                                           .outputs = {of::value("y", of::f32, {"1", "3", "1", "1"})}}));
  for (const auto& [key, value] : metadata) // ModelProto.metadata_props.
    model += of::Message().message(14, of::Message().bytes(1, key).bytes(2, value)).data;
  return built(model, plain_options());
}

TEST(TaskReader, PlansKeepTheEnginesTask) {
  namespace of = onnx_file;
  const std::string model =
      of::model(of::graph({.nodes = {of::node({"GlobalAveragePool", {"x"}, {"y"}})},
                           .inputs = {of::value("x", of::f32, {"1", "3", "8", "8"})},
                           .outputs = {of::value("y", of::f32, {"1", "3", "1", "1"})}}));
  BuildOptions options = plain_options();
  options.metadata["lanner.task"] = R"({"task": "classify", "labels": ["r", "g", "b"]})";
  const TemporaryFolder folder;
  built(model, options).save(folder / "m.plan");
  const ResolvedTask found = resolve_task(Engine::load(folder / "m.plan"));
  EXPECT_EQ(found.task.labels.size(), 3U);
  EXPECT_EQ(found.reason,
            "classify, 3 classes, by the model's metadata (lanner.task) and the outputs' shapes");
  options.metadata["lanner.preprocess.x"] = "{}";
  LANNER_EXPECT_ERROR(built(model, options), ErrorCode::invalid_argument, "by its own option");
}

TEST(TaskReader, ReadsAnEnginesOutputs) {
  const Engine engine =
      mean_network({{"lanner.task", R"({"task": "classify", "labels": ["r", "g", "b"], "top": 2})"}});
  const TaskReader reader(Task(), engine, Preprocess::preset("none"));
  EXPECT_EQ(reader.task().kind, TaskKind::classify);
  EXPECT_EQ(reader.label(1), "g");
  EXPECT_EQ(reader.label(3), "class 3");
  EXPECT_EQ(reader.label(-1), "class -1");
  Context context = engine.create_context();
  Tensor input = Tensor::zeros(DType::f32, {1, 3, 8, 8});
  for (std::size_t i = 64; i < 128; ++i) input.as<float>()[i] = 3;
  context.bind("x", input);
  context.run();
  const TaskResult result = reader.read({{"y", context.output("y").tensor}}, 20, 10);
  EXPECT_EQ(result.count(), 2);
  EXPECT_EQ(result.labels.as<std::int64_t>()[0], 1);
  EXPECT_NEAR(result.scores.as<float>()[0], std::exp(3) / (std::exp(3) + 2), 1e-5);
  EXPECT_EQ(result.width, 20);
  Task wrong;
  wrong.labels = {"one"};
  LANNER_EXPECT_ERROR(TaskReader(wrong, engine, Preprocess()), ErrorCode::invalid_argument, "1 were given");
}

} // namespace
} // namespace lanner::test
