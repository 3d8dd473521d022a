// Storages of inputs and outputs.

#include <cmath>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::laid_out;
using test::numbers;
using test::ramp;

/// Three convolutions of 16 channels.
std::string convolutions(const char* rows = "6") {
  std::vector<float> values(16 * 16 * 9);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 0.1f;
  const auto conv = [](const char* from, const char* to) {
    return node({"Conv", {from, "w"}, {to}, {attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})}});
  };
  return model(graph({.nodes = {conv("x", "a"), conv("a", "b"), conv("b", "y")},
                      .inputs = {value("x", f32, {"1", "16", rows, "6"})},
                      .outputs = {value("y", f32, {"1", "16", rows, "6"})},
                      .constants = {floats("w", {16, 16, 3, 3}, values)}}));
}

Tensor picture(std::int64_t rows = 6) {
  Tensor tensor = Tensor::allocate(DType::f32, {1, 16, rows, 6});
  int i = 0;
  for (float& value : tensor.as<float>()) value = static_cast<float>((i++ * 7) % 13) / 8;
  return tensor;
}

std::vector<float> row_major_answer(const Tensor& x, const std::string& file = convolutions()) {
  return numbers(built(file, test::plain_options()).create_context()({{"x", x}}).at("y").tensor);
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, float tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
}

BuildOptions held(const char* x, const char* y) {
  BuildOptions options = test::plain_options();
  options.storages["x"] = BindingStorage::parse(x);
  options.storages["y"] = BindingStorage::parse(y);
  return options;
}

TEST(Storages, AreParsedFromShortTexts) {
  const BindingStorage plain = BindingStorage::parse("acdb");
  EXPECT_EQ(plain.layout, "acdb");
  EXPECT_FALSE(plain.dtype);
  const BindingStorage full = BindingStorage::parse("row:fp16:pitch=640");
  EXPECT_EQ(full.layout, "row");
  EXPECT_EQ(full.dtype, DType::f16);
  EXPECT_EQ(full.row_pitch, 640);
  for (const char* wrong : {"", ":f16", "row:", "row:pitch=x", "row:pitch=-4"})
    LANNER_EXPECT_ERROR(BindingStorage::parse(wrong), ErrorCode::invalid_argument, "storage");
  EXPECT_THROW(BindingStorage::parse("row:f17"), Error);
}

TEST(Storages, ChannelsLastInputGivesTheSameAsTransposing) {
  const Engine engine = built(convolutions(), held("acdb", "aBcd8b"));
  EXPECT_EQ(engine.inputs()[0].storage, "acdb");
  EXPECT_EQ(engine.outputs()[0].storage, "aBcd8b");
  Context context = engine.create_context();
  const Tensor x = laid_out(picture(), "acdb");
  context.bind("x", x);
  context.run();
  const Tensor y = context.output("y").tensor;
  EXPECT_EQ(y.layout().to_string(), "aBcd8b");
  expect_near(numbers(y), row_major_answer(picture()), 1e-4f);
  context.bind("x", picture()); // in another layout: copied
  Tensor memory = Tensor::zeros(DType::f32, {1, 16, 6, 6}, Layout::parse("aBcd8b"));
  context.bind_output("y", memory);
  context.run();
  expect_near(numbers(memory), row_major_answer(picture()), 1e-4f);
  LANNER_EXPECT_ERROR(context.bind_output("y", Tensor::zeros(DType::f32, {1, 16, 6, 6})),
                      ErrorCode::invalid_argument, "expected aBcd8b");
}

TEST(Storages, MayBeSixteenBit) {
  const Engine engine = built(convolutions(), held("row:f16", "acdb:f16"));
  EXPECT_EQ(engine.inputs()[0].to_string(), "x: f16[1, 16, 6, 6]");
  Context context = engine.create_context();
  Storage halves;
  halves.dtype = DType::f16;
  const Tensor x = pack(picture(), halves); // exactly
  const auto got = context({{"x", x}});
  EXPECT_EQ(got.at("y").tensor.dtype(), DType::f16);
  expect_near(numbers(got.at("y").tensor), row_major_answer(picture()), 5e-2f);
  LANNER_EXPECT_ERROR(context.bind("x", picture()), ErrorCode::invalid_argument,
                      "input x: f16[1, 16, 6, 6] expected");
  EXPECT_TRUE(engine.verify().right());
}

/// The chosen storage is kept in plans and used for all shapes.
TEST(Storages, MayBeLeftToTheBuild) {
  BuildOptions options = held("any", "any");
  const std::string file = convolutions("rows");
  options.shapes["x"] = {{1, 16, 1, 6}, {1, 16, 6, 6}, {1, 16, 20, 6}};
  const TemporaryFolder folder;
  const Engine made = built(file, options);
  made.save(folder.path() / "any.plan");
  const std::string in = made.inputs()[0].storage, out = made.outputs()[0].storage;
  EXPECT_NE(in, "any");
  EXPECT_EQ(made.lowered_ir().find("reorder"), std::string::npos) << made.lowered_ir();
  for (const Engine& engine : {made, Engine::load(folder.path() / "any.plan")}) {
    EXPECT_EQ(engine.inputs()[0].storage, in);
    EXPECT_EQ(engine.outputs()[0].storage, out);
    Context context = engine.create_context();
    for (const std::int64_t rows : {6, 1, 9, 6}) {
      const Tensor x = picture(rows);
      const auto got = context({{"x", laid_out(x, in)}});
      EXPECT_EQ(got.at("y").tensor.layout().to_string(), out);
      BuildOptions fixed = test::plain_options();
      fixed.shapes["x"] = ShapeRange::fixed(x.shape());
      expect_near(numbers(got.at("y").tensor),
                  numbers(built(file, fixed).create_context()({{"x", x}}).at("y").tensor), 1e-4f);
    }
  }
}

TEST(Storages, RowsMayHaveAPitch) {
  const std::string file = model(graph({.nodes = {node({"Add", {"x", "x"}, {"y"}})},
                                        .inputs = {value("x", f32, {"n", "3"})},
                                        .outputs = {value("y", f32, {"n", "3"})}}));
  const Engine engine = built(file, held("row:pitch=20", "row:f32:pitch=16"));
  EXPECT_EQ(engine.inputs()[0].to_string(), "x: f32[n, 5]");
  EXPECT_EQ(engine.outputs()[0].dims, (std::vector<std::int64_t>{-1, 4}));
  const Tensor y = engine.create_context()({{"x", ramp({2, 5})}}).at("y").tensor;
  EXPECT_EQ(numbers(y), (std::vector<float>{0, 2, 4, 0, 10, 12, 14, 0}));
  LANNER_EXPECT_ERROR(built(file, held("row:pitch=8", "row")), ErrorCode::invalid_argument, "for 3 at least");
  LANNER_EXPECT_ERROR(built(file, held("row:pitch=14", "row")), ErrorCode::invalid_argument, "multiple");
  LANNER_EXPECT_ERROR(built(file, held("ba:pitch=20", "row")), ErrorCode::unsupported, "layout row");
  LANNER_EXPECT_ERROR(built(convolutions("rows"), held("row", "row:pitch=4")), ErrorCode::invalid_argument,
                      "for 6 at least");
}

TEST(Storages, ApplyToOutputsOfDataDependentSize) {
  const std::string file = model(
      graph({.nodes = {node({"NonZero", {"x"}, {"n"}}), node({"Cast", {"n"}, {"y"}, {attribute("to", 1)}})},
             .inputs = {value("x", f32, {"2", "3"})},
             .outputs = {value("y", f32, {"2", "k"})}}));
  const Tensor y = built(file, held("row", "ba:f16")).create_context()({{"x", ramp({2, 3})}}).at("y").tensor;
  EXPECT_EQ(y.dtype(), DType::f16);
  EXPECT_EQ(y.layout().to_string(), "ba");
  EXPECT_EQ(numbers(y), (std::vector<float>{0, 0, 1, 1, 1, 1, 2, 0, 1, 2}));
}

TEST(Storages, RejectWhatDoesNotFit) {
  const auto refused = [](const char* name, const char* storage) {
    BuildOptions options = test::plain_options();
    options.storages[name] = BindingStorage::parse(storage);
    return built(convolutions(), options);
  };
  LANNER_EXPECT_ERROR(refused("q", "acdb"), ErrorCode::invalid_argument,
                      "no input or output 'q'; there is x, y");
  LANNER_EXPECT_ERROR(refused("x", "acb"), ErrorCode::invalid_argument, "does not fit");
  LANNER_EXPECT_ERROR(refused("x", "abcd9999b"), ErrorCode::bad_data, "storage of x");
  LANNER_EXPECT_ERROR(refused("x", "row:u8"), ErrorCode::unsupported, "cannot be stored as u8");
}

} // namespace
} // namespace lanner
