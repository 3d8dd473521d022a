// Inputs with built-in preprocessing: the same answers as preprocessing by hand.

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lanner/engine.h>

#include "engine/plan_file/plan_parts.h"
#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "image/picture_record.h"
#include "image/reference.h"
#include "ops/table/table.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::numbers;
using test::plain_options;
using test::random_image;

/// y = -x of pictures of 20 x 16, exact in every layout.
std::string negating(const std::vector<std::string>& dims) {
  return model(graph({.nodes = {node({"Neg", {"x"}, {"y"}})},
                      .inputs = {value("x", f32, dims)},
                      .outputs = {value("y", f32, dims)}}));
}

const std::vector<std::string> any_batch{"N", "3", "16", "20"};

Preprocess spec_of(Fit fit, Resize resize = Resize::bilinear) {
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = 20, spec.height = 16;
  spec.fit = fit;
  spec.resize = resize;
  return spec;
}

BuildOptions taking(const Preprocess& spec, std::optional<PixelFormat> format = {}) {
  BuildOptions options = plain_options();
  options.images["x"] = {format, spec};
  return options;
}

std::vector<float> by_hand(std::span<const Image> images, const Preprocess& spec) {
  std::vector<float> all;
  for (const Image& image : images)
    for (const float value : numbers(to_tensor(image, spec))) all.push_back(-value);
  return all;
}

std::vector<float> run(Context& context, std::span<const Image> images, const Preprocess* spec = nullptr) {
  context.bind("x", images, spec);
  context.run();
  return numbers(context.output("y").tensor);
}

TEST(Pictures, EqualPreprocessingByHand) {
  for (const Fit fit : {Fit::stretch, Fit::letterbox, Fit::crop})
    for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::antialias}) {
      const Preprocess spec = spec_of(fit, resize);
      const Engine engine = built(negating(any_batch), taking(spec));
      Context context = engine.create_context();
      for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::rgb24, PixelFormat::gray8,
                                       PixelFormat::yuv420p10, PixelFormat::bgra32}) {
        const std::vector<Image> images{random_image(format, 37, 23, 1)};
        EXPECT_EQ(run(context, images), by_hand(images, spec)) << to_string(format) << spec.to_json();
      }
    }
}

TEST(Pictures, InABatchMayDifferInSizeAndFormat) {
  const Preprocess spec = spec_of(Fit::letterbox);
  const Engine engine = built(negating(any_batch), taking(spec));
  const std::vector<Image> images{random_image(PixelFormat::nv12, 53, 31, 1),
                                  random_image(PixelFormat::rgb24, 7, 90, 2),
                                  random_image(PixelFormat::yuv444p, 640, 3, 3)};
  Context first = engine.create_context(), second = engine.create_context();
  const std::vector<Image> one{images[1]};
  EXPECT_EQ(run(first, images), by_hand(images, spec));
  EXPECT_EQ(run(second, one), by_hand(one, spec));
  EXPECT_EQ(run(first, images), by_hand(images, spec));
}

TEST(Pictures, PlansWithTheFormerNameOfTheOperatorLoad) {
  const TemporaryFolder folder;
  const Preprocess spec = spec_of(Fit::letterbox);
  const Engine engine = built(negating(any_batch), taking(spec));
  engine.save(folder / "images.plan");
  test::Parts parts(folder / "images.plan");
  parts.rename_operator("preprocess_images", "picture");
  parts.write(folder / "former.plan");
  const Engine loaded = Engine::load(folder / "former.plan");
  EXPECT_EQ(loaded.lowered_ir(), engine.lowered_ir());
  Context context = loaded.create_context();
  const std::vector<Image> images{random_image(PixelFormat::nv12, 37, 23, 1)};
  EXPECT_EQ(run(context, images), by_hand(images, spec));
}

TEST(Pictures, OfNewSizesNeedNoNewVariant) {
  const Engine engine = built(negating({"1", "3", "16", "20"}), taking(spec_of(Fit::crop)));
  Context context = engine.create_context();
  for (std::int32_t size = 1; size < 40; ++size) {
    const std::vector<Image> images{random_image(PixelFormat::nv12, 3 * size, 2 * size, 1)};
    EXPECT_EQ(run(context, images), by_hand(images, spec_of(Fit::crop))) << size;
  }
  EXPECT_EQ(state_of(engine).variants().list().size(), 1u);
}

TEST(Pictures, AreReadByTheRunWithoutACopy) {
  const Preprocess spec = spec_of(Fit::stretch);
  Context context = built(negating(any_batch), taking(spec)).create_context();
  std::vector<Image> images{random_image(PixelFormat::rgb24, 31, 17, 1)};
  static_cast<void>(run(context, images));
  const Image other = random_image(PixelFormat::rgb24, 31, 17, 2);
  copy_image(other, images[0]);
  context.run();
  EXPECT_EQ(numbers(context.output("y").tensor), by_hand(images, spec));
}

TEST(Pictures, MayHaveTheirOwnRegionAndQuarterTurns) {
  const Preprocess spec = spec_of(Fit::letterbox);
  Context context = built(negating(any_batch), taking(spec)).create_context();
  const std::vector<Image> images{random_image(PixelFormat::nv12, 61, 43, 1)};
  Preprocess own = spec;
  own.region = {3, 5, 40, 21};
  own.quarter_turns = 3;
  EXPECT_EQ(run(context, images, &own), by_hand(images, own));
  own.fit = Fit::crop;
  LANNER_EXPECT_ERROR(run(context, images, &own), ErrorCode::invalid_argument,
                      "expected fit \"letterbox\", got fit \"crop\"");
  own = spec;
  own.region = {0, 0, 100, 10};
  LANNER_EXPECT_ERROR(run(context, images, &own), ErrorCode::invalid_argument, "input x: preprocess: region");
}

TEST(Pictures, FillRowsOfPixelsChannelsLastAndBytes) {
  Preprocess spec = spec_of(Fit::stretch);
  const std::vector<Image> images{random_image(PixelFormat::nv12, 50, 40, 4)};
  Context rows = built(negating({"N", "960"}), taking(spec)).create_context();
  EXPECT_EQ(run(rows, images), by_hand(images, spec));
  spec.channels_last = true;
  Context last = built(negating({"N", "16", "20", "3"}), taking(spec)).create_context();
  EXPECT_EQ(run(last, images), by_hand(images, spec));
  spec.gray = true;
  Context gray = built(negating({"N", "H", "W", "1"}), taking(spec)).create_context();
  EXPECT_EQ(run(gray, images), by_hand(images, spec));
}

TEST(Pictures, UseTheSizeOfTheModel) {
  Preprocess spec = spec_of(Fit::stretch), open = spec;
  open.width = open.height = 0;
  const std::vector<Image> images{random_image(PixelFormat::nv12, 50, 40, 4)};
  Context context = built(negating({"1", "3", "16", "20"}), taking(open)).create_context();
  EXPECT_EQ(run(context, images), by_hand(images, spec));
  LANNER_EXPECT_ERROR(built(negating({"1", "3", "H", "20"}), taking(open)), ErrorCode::invalid_argument,
                      "neither the preprocessing nor the model has the height");
}

TEST(Pictures, SurviveSavingAndLoadingAPlan) {
  const TemporaryFolder folder;
  const Preprocess spec = spec_of(Fit::letterbox);
  const Engine engine = built(negating(any_batch), taking(spec, PixelFormat::nv12));
  engine.save(folder / "picture.plan");
  const Engine loaded = Engine::load(folder / "picture.plan");
  EXPECT_EQ(loaded.inputs()[0].to_string(), "x: nv12 image[N]");
  EXPECT_EQ(loaded.preprocess("x"), spec);
  Context context = loaded.create_context();
  const std::vector<Image> images{random_image(PixelFormat::nv12, 37, 23, 1)};
  EXPECT_EQ(run(context, images), by_hand(images, spec));
  EXPECT_NE(loaded.explain_json().find("\"kernel\": \"picture\""), std::string::npos);
}

TEST(Pictures, AreVerified) {
  const Engine engine = built(negating(any_batch), taking(spec_of(Fit::letterbox)));
  VerifyOptions asked;
  asked.runs = 3;
  const Verification found = engine.verify(asked);
  EXPECT_TRUE(found.right()) << (found.differences.empty() ? found.network : found.differences[0].reason);
  EXPECT_EQ(found.nodes, 2u);
}

TEST(Pictures, ShapesAreNumbersOfPictures) {
  BuildOptions options = taking(spec_of(Fit::stretch));
  options.profiles = {{{"x", {{1}, {2}, {4}}}}, {{"x", {{5, 1024}, {6, 1024}, {8, 1024}}}}};
  const Engine engine = built(negating(any_batch), options);
  engine.prepare(std::map<std::string, Shape>{{"x", {3}}});
  const auto told = nlohmann::json::parse(engine.explain_json());
  EXPECT_EQ(told["profiles"][0]["x"].dump(), R"({"max":[4],"min":[1],"opt":[2]})");
  std::set<std::string> sizes;
  for (const auto& variant : told["variants"]) sizes.insert(variant["shapes"]["x"].dump());
  EXPECT_EQ(sizes, (std::set<std::string>{"[2]", "[3]", "[6]"}));
  VerifyOptions verify;
  verify.shapes["x"] = {2};
  verify.runs = 1;
  EXPECT_TRUE(engine.verify(verify).right());
}

TEST(Pictures, RejectShapesOtherThanTheirNumber) {
  const Preprocess spec = spec_of(Fit::stretch);
  BuildOptions options = taking(spec, PixelFormat::nv12);
  const Shape own{2, 3, 16, 20};
  options.profiles = {{{"x", ShapeRange::fixed(own)}}};
  LANNER_EXPECT_ERROR(built(negating(any_batch), options), ErrorCode::invalid_argument,
                      "profile 1: input x: it takes nv12 image[N]; expected the number of pictures as its "
                      "shape, like [4], got [2, 3, 16, 20]");
  const Engine one = built(negating({"1", "3", "16", "20"}), taking(spec));
  const auto prepare = [&](const Shape& shape) { one.prepare(std::map<std::string, Shape>{{"x", shape}}); };
  LANNER_EXPECT_ERROR(prepare({2}), ErrorCode::invalid_argument,
                      "input x: expected any image[1], got [2]; dim 0 differs");
  LANNER_EXPECT_ERROR(prepare(own), ErrorCode::invalid_argument, "it takes any image[1]; expected");
  VerifyOptions verify;
  verify.shapes["x"] = own;
  LANNER_EXPECT_ERROR(one.verify(verify), ErrorCode::invalid_argument, "it takes any image[1]");
}

TEST(Pictures, SurviveARefit) {
  const std::vector<float> halves(20, 0.5f), minus(20, -1.f);
  const Engine engine = built(model(graph({.nodes = {node({"Mul", {"x", "w"}, {"y"}})},
                                           .inputs = {value("x", f32, any_batch)},
                                           .outputs = {value("y", f32, any_batch)},
                                           .constants = {floats("w", {20}, halves)}})),
                              taking(spec_of(Fit::crop)));
  const Engine other = engine.refit({{"w", Tensor::from<float>(minus, {20})}});
  Context context = other.create_context();
  const std::vector<Image> images{random_image(PixelFormat::nv12, 37, 23, 1)};
  EXPECT_EQ(run(context, images), by_hand(images, spec_of(Fit::crop)));
}

TEST(Pictures, AreWrittenInTheReadersLayout) {
  std::vector<float> values(64 * 3 * 9, 0.01f);
  const std::string file = model(graph({.nodes = {node({"Conv", {"x", "w"}, {"y"}})},
                                        .inputs = {value("x", f32, {"1", "3", "64", "64"})},
                                        .outputs = {value("y", f32, {"1", "64", "62", "62"})},
                                        .constants = {floats("w", {64, 3, 3, 3}, values)}}));
  Preprocess spec = Preprocess::preset("none");
  BuildOptions options = taking(spec);
  options.storages["y"] = BindingStorage::parse("acdb");
  const Engine engine = built(file, options);
  EXPECT_EQ(engine.lowered_ir().find("reorder"), std::string::npos) << engine.lowered_ir();
}

/// A CPU computes in f32, which preprocessing writes directly.
TEST(Pictures, OfSixteenBitModelsAreWrittenInF32OnACpu) {
  constexpr std::int64_t f16 = 10;
  const std::string file = model(graph({.nodes = {node({"Neg", {"x"}, {"y"}})},
                                        .inputs = {value("x", f16, any_batch)},
                                        .outputs = {value("y", f16, any_batch)}}));
  const TemporaryFolder folder;
  const Engine engine = built(file, taking(spec_of(Fit::letterbox)));
  EXPECT_NE(engine.lowered_ir().find("%x.image: f32"), std::string::npos) << engine.lowered_ir();
  engine.save(folder / "picture.plan");
  Preprocess halves = spec_of(Fit::letterbox);
  halves.dtype = DType::f16;
  const std::vector<Image> images{random_image(PixelFormat::nv12, 37, 23, 1)};
  for (const Engine& one : {engine, Engine::load(folder / "picture.plan")}) {
    Context context = one.create_context();
    EXPECT_EQ(run(context, images), by_hand(images, halves)); // rounded once, by the output
  }
}

TEST(Pictures, RejectWhatIsNoPicture) {
  const Preprocess spec = spec_of(Fit::stretch);
  Context context = built(negating(any_batch), taking(spec, PixelFormat::nv12)).create_context();
  const std::vector<Image> wrong{random_image(PixelFormat::rgb24, 8, 8, 1)}, none{Image{}};
  LANNER_EXPECT_ERROR(context.bind("x", wrong), ErrorCode::invalid_argument,
                      "input x: the picture is rgb24, expected nv12");
  LANNER_EXPECT_ERROR(context.bind("x", none), ErrorCode::invalid_argument, "input x: ");
  LANNER_EXPECT_ERROR(context.bind("x", std::vector<Image>{}), ErrorCode::invalid_argument,
                      "no image was given");
  Context single = built(negating({"1", "3", "16", "20"}), taking(spec)).create_context();
  LANNER_EXPECT_ERROR(single.bind("x", std::vector<Image>(2, wrong[0])), ErrorCode::invalid_argument,
                      "input x: any image[1]: a batch of 2 was bound, the network takes 1 at once");
  LANNER_EXPECT_ERROR(context.bind("x", Item(Tensor::zeros(DType::f32, {1, 3, 16, 20}))),
                      ErrorCode::invalid_argument, "bind an Image");
  LANNER_EXPECT_ERROR(context.bind("x", Item(Tensor::zeros(DType::u8, {1, picture_record_bytes}))),
                      ErrorCode::invalid_argument, "was not made by this process");
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument, "is not bound");
}

TEST(Pictures, RejectContradictingOptions) {
  const std::string file = negating(any_batch);
  const auto refused = [&](auto change, std::string_view message) {
    BuildOptions options = taking(spec_of(Fit::stretch));
    change(options);
    LANNER_EXPECT_ERROR(built(file, options), ErrorCode::invalid_argument, message);
  };
  refused([](BuildOptions& o) { o.preprocess["x"] = o.images["x"].preprocess; },
          "the input is built to take pictures");
  refused([](BuildOptions& o) { o.storages["x"].layout = "acdb"; }, "takes pictures");
  refused([](BuildOptions& o) { o.overwritable = {"x"}; }, "takes pictures");
  refused([](BuildOptions& o) { o.states = {{"x", "y"}}; }, "takes pictures");
  refused([](BuildOptions& o) { o.images["z"] = o.images["x"]; }, "the model has no input 'z'");
  refused([](BuildOptions& o) { o.images["x"].preprocess.width = 21; }, "the model expects");
  refused([](BuildOptions& o) { o.images["x"].preprocess.gray = true; }, "the model expects");
  refused([](BuildOptions& o) { o.images["x"].preprocess.std[1] = 0; }, "std");
}

/// Infers a graph as from a plan.
void infer(const std::string& text) {
  infer_types(*parse_graph(text, builtin_op_table()));
}

TEST(Pictures, AreReadFromInputsOnly) {
  const std::string spec = "{preprocess = \"{\\\"width\\\": 4, \\\"height\\\": 4}\"}";
  const std::string head = "graph @g(%x: u8[1, 1024]) -> (%y) {\n";
  infer(head + "  %y = preprocess_images(%x) " + spec + "\n}");
  LANNER_EXPECT_ERROR(infer(head + "  %z = neg(%x)\n  %y = preprocess_images(%z) " + spec + "\n}"),
                      ErrorCode::bad_data, "expected an input of the graph");
  LANNER_EXPECT_ERROR(
      infer("graph @g(%x: u8[1, 1023]) -> (%y) {\n  %y = preprocess_images(%x) " + spec + "\n}"),
      ErrorCode::bad_data, "expected u8[N, 1024]");
  for (const char* wrong : {"{}", "{\\\"width\\\": 4, \\\"height\\\": -4}", "nonsense",
                            "{\\\"width\\\": 4, \\\"height\\\": 4, \\\"dtype\\\": \\\"i64\\\"}",
                            "{\\\"width\\\": 4, \\\"height\\\": 2000000000}"})
    EXPECT_THROW(infer(head + "  %y = preprocess_images(%x) {preprocess = \"" + wrong + "\"}\n}"), Error)
        << wrong;
}

} // namespace
} // namespace lanner
