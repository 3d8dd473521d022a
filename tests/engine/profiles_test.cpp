// Engines prepared for several ranges of shapes.

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "backends/backends.h"
#include "engine/heard.h"
#include "engine/plan_file/plan_parts.h"
#include "engine/small_models.h"
#include "engine/state.h"
#include "engine/told.h"
#include "expect_error.h"
#include "file_content.h"
#include "lower/check/trusted_kernels.h"
#include "ops/interpreter/interpreter.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using test::content_of;
using test::Heard;
using Profiles = std::vector<std::map<std::string, ShapeRange>>;

Shape batch_of(std::int64_t batch) {
  return {batch, 16, 12, 12};
}

ShapeRange batches(std::int64_t min, std::int64_t opt, std::int64_t max) {
  return {batch_of(min), batch_of(opt), batch_of(max)};
}

const Profiles small_and_large{{{"x", batches(1, 1, 4)}}, {{"x", batches(4, 16, 32)}}};

/// Two convolutions of any batch, with weights that kernels pack.
std::string network() {
  using namespace test::onnx_file;
  std::vector<Message> weights;
  for (const char* name : {"u", "v"}) {
    std::vector<float> numbers(16 * 16 * 3 * 3);
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = 0.01F * static_cast<float>(k % 31) - 0.15F;
    weights.push_back(floats(name, {16, 16, 3, 3}, numbers));
  }
  return model(graph({.nodes = {node({"Conv", {"x", "u"}, {"a"}}), node({"Relu", {"a"}, {"b"}}),
                                node({"Conv", {"b", "v"}, {"y"}})},
                      .inputs = {value("x", f32, {"n", "16", "12", "12"})},
                      .outputs = {value("y", f32, {"n", "16", "8", "8"})},
                      .constants = weights}));
}

Engine built(const Profiles& profiles, const std::map<std::string, ShapeRange>& shapes = {},
             const std::filesystem::path& verdicts = {}) {
  BuildOptions options = test::plain_options();
  options.deterministic = verdicts.empty();
  options.timing_cache = verdicts;
  options.shapes = shapes;
  options.profiles = profiles;
  return test::built(network(), options);
}

Tensor pictures(std::int64_t batch) {
  Tensor tensor = Tensor::allocate(DType::f32, batch_of(batch));
  std::int64_t i = 0;
  for (float& number : tensor.as<float>()) number = static_cast<float>((i++ * 37) % 101) / 101.F - 0.3F;
  return tensor;
}

std::string difference(const Engine& engine, const Tensor& got, std::int64_t batch) {
  const std::vector<Item> inputs{pictures(batch)};
  const Tensor want = run_reference(state_of(engine).portable(), inputs).at(0).tensor;
  if (got.shape() != want.shape()) return "the shape is " + got.shape().to_string();
  for (std::size_t i = 0; i < want.as<float>().size(); ++i)
    if (std::abs(got.as<float>()[i] - want.as<float>()[i]) > 1e-4F)
      return fmt::format("element {} differs", i);
  return {};
}

std::string difference(const Engine& engine, Context& context, std::int64_t batch) {
  return difference(engine, context({{"x", pictures(batch)}}).at("y").tensor, batch);
}

nlohmann::json variants(const Engine& engine) {
  return test::told(engine)["variants"];
}

TEST(Profiles, PlanServesAllFromConcurrentThreads) {
  const TemporaryFolder folder;
  built(small_and_large).save(folder / "two.plan");
  const Engine engine = Engine::load(folder / "two.plan");
  ASSERT_EQ(variants(engine).size(), 2u);
  std::vector<std::string> wrong(2);
  const std::vector<std::vector<std::int64_t>> asked{{1, 2, 3, 1}, {16, 20, 5, 16}};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      Context context = engine.create_context();
      for (int round = 0; round < 3; ++round)
        for (const std::int64_t batch : asked[t]) wrong[t] += difference(engine, context, batch);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<std::string>(2));
}

TEST(Profiles, DeterministicBuildsAreByteEqual) {
  const TemporaryFolder folder;
  built(small_and_large).save(folder / "first.plan");
  const Engine second = built(small_and_large);
  Context context = second.create_context(); // variants made at first use are not saved
  context({{"x", pictures(7)}});
  second.save(folder / "second.plan");
  EXPECT_EQ(content_of(folder / "first.plan"), content_of(folder / "second.plan"));
  Engine::load(folder / "first.plan").save(folder / "third.plan");
  EXPECT_EQ(content_of(folder / "first.plan"), content_of(folder / "third.plan"));
}

TEST(Profiles, WeightsAreInThePlanOnce) {
  const TemporaryFolder folder;
  built({{{"x", batches(16, 16, 32)}}}).save(folder / "one.plan");
  built({{{"x", batches(16, 16, 32)}}, {{"x", batches(24, 24, 24)}}}).save(folder / "two.plan");
  const auto weights = [&](const char* name) {
    std::size_t count = 0;
    const Safetensors file = Safetensors::open(open_path(folder / name));
    for (const SafetensorsEntry& entry : file.entries())
      count += file.bytes(entry).size() >= 16 * 16 * 3 * 3 * sizeof(float) && entry.name.starts_with("w");
    return count;
  };
  EXPECT_EQ(weights("two.plan"), weights("one.plan"));
}

TEST(Profiles, OtherShapesReuseTheKernels) {
  const Engine engine = built(small_and_large);
  const auto like = [&](std::int64_t batch) {
    const auto made = state_of(engine).variant({batch_of(batch)}, 1, {}, false);
    std::vector<std::string> kernels;
    for (const auto& node : made->program->graph().body().nodes())
      kernels.push_back(node->tactic.backend + node->tactic.kernel);
    return kernels;
  };
  EXPECT_EQ(state_of(engine).profile_of({batch_of(4)}), &state_of(engine).profiles[0]);
  EXPECT_EQ(state_of(engine).profile_of({batch_of(5)}), &state_of(engine).profiles[1]);
  EXPECT_EQ(state_of(engine).profile_of({batch_of(33)}), nullptr);
  EXPECT_EQ(like(3), like(1));
  EXPECT_EQ(like(20), like(16));
}

/// Checks are recorded in the timing cache.
TEST(Profiles, OtherShapesAreCheckedOnlyIfKernelsAreNotTrusted) {
  const TemporaryFolder folder;
  const std::filesystem::path verdicts = folder / "timing.txt";
  const Engine engine = built(small_and_large, {}, verdicts);
  const auto opt = state_of(engine).variant({batch_of(16)}, 1);
  const bool is_trusted = trusted(opt->program->graph(), backends_for(state_of(engine).target));
  std::string before = content_of(verdicts);
  ASSERT_FALSE(before.empty());
  state_of(engine).variant({batch_of(20)}, 1, {}, false);
  EXPECT_EQ(content_of(verdicts) == before, is_trusted);
  before = content_of(verdicts);
  state_of(engine).variant({batch_of(33)}, 1, {}, false);
  EXPECT_NE(content_of(verdicts), before);
}

TEST(Profiles, ShapesOutsideRunWithAWarning) {
  const Engine engine = built(small_and_large);
  const Heard heard;
  Context context = engine.create_context();
  EXPECT_EQ(difference(engine, context, 3), "");
  EXPECT_TRUE(heard.lines().empty());
  for (int run = 0; run < 2; ++run) EXPECT_EQ(difference(engine, context, 40), "");
  ASSERT_EQ(heard.lines().size(), 1u);
  EXPECT_NE(heard.lines()[0].find("no profile contains the shapes x: [40, 16, 12, 12]"), std::string::npos)
      << heard.lines()[0];
}

TEST(Profiles, OptShapesOfTheFirstAreTheEngines) {
  const Engine engine = built({{{"x", batches(2, 3, 4)}}, {{"x", batches(1, 1, 1)}}});
  EXPECT_EQ(state_of(engine).opt, InputShapes{batch_of(3)});
  EXPECT_EQ(variants(engine)[0]["shapes"]["x"][0], 1);
  EXPECT_EQ(variants(engine)[0]["profile"], 1);
  EXPECT_EQ(variants(engine)[1]["profile"], 0);
}

TEST(Profiles, RejectsInvalidProfiles) {
  LANNER_EXPECT_ERROR(built({{{"x", batches(1, 1, 4)}}, {{"y", batches(1, 1, 4)}}}),
                      ErrorCode::invalid_argument, "profile 2: the model has no input 'y'; there is x");
  LANNER_EXPECT_ERROR(built({{{"x", batches(2, 1, 4)}}}), ErrorCode::invalid_argument,
                      "profile 1: input x: dim 0: expected min <= opt <= max, got 2, 1, 4");
  LANNER_EXPECT_ERROR(built({{{"x", ShapeRange::fixed({1, 3, 12, 12})}}}), ErrorCode::invalid_argument,
                      "profile 1: input x: expected f32[n, 16, 12, 12]");
  LANNER_EXPECT_ERROR(built({{{"x", ShapeRange::fixed({1, 16})}}}), ErrorCode::invalid_argument,
                      "profile 1: ");
  LANNER_EXPECT_ERROR(built({{}}), ErrorCode::invalid_argument, "profile 1: no shape is given");
  LANNER_EXPECT_ERROR(built(Profiles(33, {{"x", batches(1, 1, 4)}})), ErrorCode::invalid_argument,
                      "33 profiles are given, expected at most 32");
  LANNER_EXPECT_ERROR(built({{{"x", batches(1, 1, 64)}}}, {{"x", batches(1, 1, 32)}}),
                      ErrorCode::invalid_argument, "profile 1: input x: dim 0: n is 64");
}

TEST(Profiles, SizesOfOneNameAreEqual) {
  using namespace test::onnx_file;
  const std::string file =
      model(graph({.nodes = {node({"Add", {"x", "mask"}, {"y"}})},
                   .inputs = {value("x", f32, {"n", "3"}), value("mask", f32, {"n", "3"})},
                   .outputs = {value("y", f32, {"n", "3"})}}));
  BuildOptions options = test::plain_options();
  options.profiles = {{{"x", {{1, 3}, {5, 3}, {9, 3}}}}};
  const Engine engine = test::built(file, options);
  EXPECT_EQ(state_of(engine).opt, (InputShapes{{5, 3}, {5, 3}}));
  engine.prepare({{"x", {2, 3}}});
  EXPECT_EQ(variants(engine)[0]["shapes"]["mask"][0], 2);
}

TEST(Prepare, MakesSeveralVariantsThatPlansStore) {
  const TemporaryFolder folder;
  const Engine engine = built({});
  engine.prepare(std::vector<Variant>{{{{"x", batch_of(2)}}, 0}, {{{"x", batch_of(8)}}, 2}});
  engine.save(folder / "prepared.plan");
  const Engine loaded = Engine::load(folder / "prepared.plan");
  const nlohmann::json kept = variants(loaded);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0]["shapes"]["x"][0], 2);
  EXPECT_EQ(kept[1]["shapes"]["x"][0], 8);
  EXPECT_EQ(kept[1]["threads"], 2);
  Context context = loaded.create_context({.threads = 2});
  EXPECT_EQ(difference(loaded, context, 8), "");
}

TEST(Prepare, ContextUsesAVariantPreparedAfterItsRun) {
  const Engine engine = built({});
  Context context = engine.create_context();
  for (const std::int64_t batch : {2, 3}) EXPECT_EQ(difference(engine, context, batch), "");
  const auto before = state_of(engine).variant({batch_of(3)}, 1, {}, false);
  engine.prepare({{"x", batch_of(3)}});
  EXPECT_NE(state_of(engine).variant({batch_of(3)}, 1, {}, false), before);
  const std::weak_ptr<const Program> old = before->program;
  for (const std::int64_t batch : {3, 2, 3}) EXPECT_EQ(difference(engine, context, batch), "");
}

TEST(Prepare, CanBeCancelledAndRejectsInvalidShapes) {
  const Engine engine = built({});
  Control control;
  control.cancel = CancelToken::create();
  control.progress = [&](const ProgressUpdate&) { control.cancel.cancel(); };
  LANNER_EXPECT_ERROR(engine.prepare(std::vector<Variant>{{{{"x", batch_of(2)}}, 0}}, control),
                      ErrorCode::cancelled, "");
  LANNER_EXPECT_ERROR(engine.prepare({{"z", batch_of(2)}}), ErrorCode::invalid_argument, "no input 'z'");
  engine.prepare({{"x", batch_of(2)}});
  EXPECT_EQ(variants(engine).size(), 1u);
}

/// The plan of two profiles with one part changed and a valid digest.
class ChangedPlan : public testing::Test {
protected:
  void SetUp() override { built(small_and_large).save(folder / "two.plan"); }
  void expect_refused(const std::function<void(test::Parts&)>& change) {
    test::Parts parts(folder / "two.plan");
    change(parts);
    parts.write(folder / "changed.plan");
    EXPECT_THROW(Engine::load(folder / "changed.plan"), Error);
  }
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << text;
    text.replace(at, from.size(), to);
  }
  TemporaryFolder folder;
};

TEST_F(ChangedPlan, WrongTablesAreRejected) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"[[16,16,12,12]]", "[[17,16,12,12]]"},
                                                        {"[[16,16,12,12]]", "[[-1,16,12,12]]"},
                                                        {"[[16,16,12,12]]", "[]"},
                                                        {"\"threads\":1", "\"threads\":0"},
                                                        {"\"threads\":1", "\"threads\":\"1\""},
                                                        {"]]", "]"}})
    expect_refused([&, &old = from, &now = to](test::Parts& parts) {
      replace(parts.metadata.at("lanner.variants"), old, now);
    });
  expect_refused([](test::Parts& parts) {
    const std::string entry = R"({"shapes":[[16,16,12,12]],"threads":1})";
    std::string all = entry;
    for (int i = 0; i < 1024; ++i) all += "," + entry;
    parts.metadata["lanner.variants"] = "[" + all + "]";
  });
}

TEST_F(ChangedPlan, WrongProfilesAreRejected) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"[[[1,16,12,12]", "[[[2,16,12,12]"},
                                                        {"[[[1,16,12,12]", "[[[-2,16,12,12]"},
                                                        {"[[[1,16,12,12]", "[[[16,12,12]"},
                                                        {"\"profiles\":[", "\"profiles\":[[],"},
                                                        {"\"profiles\":[", "\"profiles\":[[null,null],"},
                                                        {"\"profiles\":[", "\"profiles\":[7,"}})
    expect_refused([&, &old = from, &now = to](test::Parts& parts) {
      replace(parts.metadata.at("lanner.target"), old, now);
    });
}

TEST_F(ChangedPlan, GraphOfAnotherVariantIsRejected) {
  expect_refused([](test::Parts& parts) { parts.content["lowered.1"] = parts.content["lowered"]; });
  expect_refused([](test::Parts& parts) { parts.content["reports.1"] = "7"; });
}

} // namespace
} // namespace lanner
