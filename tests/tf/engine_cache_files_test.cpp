// The cache of engines in saved models and in the nodes of TF-TRT, its limit on memory, and failed builds.

#include <lanner/tensorflow.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "engine/counting_allocator.h"
#include "expect_error.h"
#include "importers/graph_def_file.h"
#include "temporary_folder.h"
#include "tf/convert/engine_cache.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;
using tf::EngineCounters;
using tf::EngineMode;
using tf::EngineShapes;
using tf::ProfileStrategy;
using Inputs = std::map<std::string, Item>;

constexpr std::int64_t width = 64;

Message product(const char* name, const char* x, const char* w) {
  return node({name, "MatMul", {x, w}, {type("T", f32)}});
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 11) * 0.02f - 0.1f;
  return values;
}

/// Three products with weights, and ReLU between them; x: [N, width].
std::string network() {
  const std::vector<float> weights = numbers(width * width);
  return graph_def({placeholder("x", f32, {-1, width}), floats("w", {width, width}, weights),
                    product("a", "x", "w"), node({"b", "Relu", {"a"}, {type("T", f32)}}),
                    product("c", "b", "w"), node({"d", "Relu", {"c"}, {type("T", f32)}}),
                    product("y", "d", "w")});
}

/// With kernels that do not depend on how long checks take, so that two models need the same memory.
tf::ConvertOptions plain() {
  tf::ConvertOptions options;
  options.build.budget = 0;
  options.build.deterministic = true;
  options.build.threads = 1;
  return options;
}

tf::Model convert(const std::string& file, const tf::ConvertOptions& options) {
  const auto held = std::make_shared<const std::string>(file); // the model keeps views of it
  return tf::Model::convert(open_bytes(std::as_bytes(std::span(*held)), held), options);
}

Inputs batch(std::int64_t rows) {
  return {{"x", Tensor::from<float>(numbers(static_cast<std::size_t>(rows * width)), {rows, width})}};
}

std::vector<float> answer(const tf::Model& model, std::int64_t rows) {
  const Tensor y = model.create_runner()(batch(rows)).at("y").tensor;
  return {y.as<float>().begin(), y.as<float>().end()};
}

/// The same network without engines.
const tf::Model& native_model() {
  static const tf::Model model = [] {
    tf::ConvertOptions options = plain();
    options.minimum_segment_size = -1;
    return convert(network(), options);
  }();
  return model;
}

void expect_answer(const tf::Model& model, std::int64_t rows) {
  const std::vector<float> wanted = answer(native_model(), rows), got = answer(model, rows);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5) << i;
}

EngineCounters counters(const tf::Model& model) {
  return model.counters().at(0);
}

std::string counted(const tf::Model& model) {
  const EngineCounters all = counters(model);
  std::string line = fmt::format("built {}, hits {}, evicted {}", all.built, all.hits, all.evicted);
  for (const auto& [cause, runs] : all.native) line += fmt::format(", {} {}", to_string(cause), runs);
  return line;
}

/// Batches of the engines, the most recently used first.
std::vector<std::int64_t> batches(const tf::Model& model) {
  std::vector<std::int64_t> sizes;
  for (const tf::CachedEngine& engine : counters(model).cached)
    sizes.push_back(engine.shapes.at("TensorRTInputPH_0").opt[0]);
  return sizes;
}

bool has_plan(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "assets/trt-serialized-engine.TRTEngineOp_000_000");
}

TEST(SavedEngines, AnUnbuiltDynamicModelHoldsNoEngine) {
  const TemporaryFolder folder;
  const tf::Model model = convert(network(), plain());
  model.save(folder / "out");
  EXPECT_FALSE(has_plan(folder / "out"));
  const tf::Model loaded = tf::Model::load(folder / "out", plain());
  EXPECT_EQ(counted(loaded), "built 0, hits 0, evicted 0");
  expect_answer(loaded, 3);
  EXPECT_EQ(counted(loaded), "built 1, hits 0, evicted 0");
}

TEST(SavedEngines, EnginesThatWereBuiltAreLoadedAndEvictedOnesAreNot) {
  const TemporaryFolder folder;
  tf::ConvertOptions options = plain();
  options.maximum_cached_engines = 2;
  const tf::Model model = convert(network(), options);
  const std::vector<Inputs> inputs{batch(2), batch(4), batch(8)};
  model.build(inputs);
  EXPECT_EQ(counted(model), "built 3, hits 0, evicted 1");
  model.save(folder / "out");
  EXPECT_TRUE(has_plan(folder / "out"));
  tf::ConvertOptions prepared = plain();
  prepared.allow_build_at_runtime = false;
  const tf::Model loaded = tf::Model::load(folder / "out", prepared);
  EXPECT_EQ(batches(loaded), (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(counters(loaded).maximum, 2u) << "the node says so";
  expect_answer(loaded, 4);
  expect_answer(loaded, 8);
  expect_answer(loaded, 9);
  EXPECT_EQ(counted(loaded), "built 0, hits 2, evicted 0, not_built 1");
  model.save(folder / "out", false);
  EXPECT_FALSE(has_plan(folder / "out")) << "of an earlier save";
}

TEST(SavedEngines, ProfilesAndModesAreKept) {
  const TemporaryFolder folder;
  tf::ConvertOptions options = plain();
  options.profile_strategy = ProfileStrategy::range;
  const tf::Model model = convert(network(), options);
  model.build(std::vector<Inputs>{batch(2), batch(8)});
  model.save(folder / "profiles");
  const tf::Model loaded = tf::Model::load(folder / "profiles", plain());
  for (const std::int64_t rows : {2, 5, 8, 1}) expect_answer(loaded, rows);
  EXPECT_EQ(counted(loaded), "built 0, hits 3, evicted 0, outside_profiles 1");

  options = plain();
  options.mode = EngineMode::fixed;
  options.max_batch_size = 4;
  const tf::Model fixed = convert(network(), options);
  for (const bool engines : {true, false}) {
    fixed.save(folder / "static", engines);
    const tf::Model again = tf::Model::load(folder / "static", plain());
    expect_answer(again, 4);
    expect_answer(again, 5);
    EXPECT_EQ(counted(again), engines ? "built 0, hits 1, evicted 0, other_shapes 1"
                                      : "built 1, hits 1, evicted 0, other_shapes 1");
  }
}

TEST(SavedEngines, DamagedRangesAreRefused) {
  for (const char* ranges : {"[[]]", "[[{\"min\": [1], \"opt\": [1, 2], \"max\": [1]}]]", "[[7]]", "{",
                             "[[{\"min\": [2], \"opt\": [1], \"max\": [3]}]]", "7",
                             "[[{\"min\": [-1], \"opt\": [1], \"max\": [3]}]]"})
    LANNER_EXPECT_ERROR(static_cast<void>(tf::parse_entries(ranges, 1)), ErrorCode::bad_data,
                        "_lanner_profiles");
}

/// A node as TF-TRT wrote it, with its segment in the function library.
std::string node_of_tf_trt(std::vector<Message> attributes, std::int64_t columns) {
  const std::vector<float> weights = numbers(width * width);
  attributes.push_back(types("InT", {f32}));
  attributes.push_back(types("OutT", {f32}));
  attributes.push_back(function("segment_func", "segment"));
  return graph_def(
      {placeholder("x", f32, {-1, columns}), node({"e", "TRTEngineOp", {"x"}, attributes}),
       node({"y", "Identity", {"e"}, {type("T", f32)}})},
      {function_definition({"segment",
                            {"in"},
                            {"out"},
                            {"y:product:0"},
                            {floats("w", {width, width}, weights),
                             node({"a", "MatMul", {"in", "w:output:0"}, {type("T", f32)}}),
                             node({"b", "Relu", {"a:product:0"}, {type("T", f32)}}),
                             node({"c", "MatMul", {"b:activations:0", "w:output:0"}, {type("T", f32)}}),
                             node({"d", "Relu", {"c:product:0"}, {type("T", f32)}}),
                             node({"y", "MatMul", {"d:activations:0", "w:output:0"}, {type("T", f32)}})}})});
}

/// The shape of the node's only input; -1 for an unknown size.
Message input_shape(const std::vector<std::int64_t>& dims) {
  Message shape;
  for (const std::int64_t size : dims) shape.message(2, Message().integer(1, size));
  return attribute("input_shapes", Message().message(1, Message().message(7, shape)));
}

/// With `columns` -1 the model leaves all sizes open.
tf::Model loaded(const std::vector<Message>& attributes, const tf::ConvertOptions& options = plain(),
                 std::int64_t columns = width) {
  const TemporaryFolder folder;
  return tf::Model::load(folder.write("graph.pb", node_of_tf_trt(attributes, columns)), options);
}

TEST(NodesOfTfTrt, WhatTheySayOfTheirEnginesIsHonoured) {
  const tf::Model plain_node = loaded({});
  for (const std::int64_t rows : {4, 2, 8, 4}) expect_answer(plain_node, rows);
  EXPECT_EQ(counters(plain_node).maximum, 1u);
  EXPECT_EQ(counted(plain_node), "built 2, hits 2, evicted 1");

  const tf::Model several = loaded({integer("max_cached_engines_count", 100)});
  for (const std::int64_t rows : {2, 4, 2, 4}) expect_answer(several, rows);
  EXPECT_EQ(counted(several), "built 2, hits 2, evicted 0");

  const tf::Model unbuilt = loaded({flag("_allow_build_at_runtime", false)});
  expect_answer(unbuilt, 2);
  EXPECT_EQ(counted(unbuilt), "built 0, hits 0, evicted 0, not_built 1");

  const tf::Model fixed = loaded({flag("static_engine", true), integer("max_batch_size", 4)});
  EXPECT_EQ(counted(fixed), "built 1, hits 0, evicted 0");
  for (const std::int64_t rows : {4, 3, 5}) expect_answer(fixed, rows);
  EXPECT_EQ(counted(fixed), "built 1, hits 2, evicted 0, other_shapes 1");

  const tf::Model profiles =
      loaded({flag("_use_implicit_batch", false), text("profile_strategy", "Optimal")});
  profiles.build(std::vector<Inputs>{batch(2), batch(4)});
  for (const std::int64_t rows : {2, 4, 3}) expect_answer(profiles, rows);
  EXPECT_EQ(counted(profiles), "built 2, hits 2, evicted 0, outside_profiles 1");
}

TEST(NodesOfTfTrt, SizesOfAStaticEngineAreThoseOfItsNode) {
  const std::vector<Message> attributes{flag("static_engine", true), integer("max_batch_size", 4)};
  const tf::Model open = loaded(attributes, plain(), -1);
  expect_answer(open, 4);
  EXPECT_EQ(counted(open), "built 0, hits 0, evicted 0, open_sizes 1");
  std::vector<Message> known = attributes;
  known.push_back(input_shape({-1, width}));
  const tf::Model model = loaded(known, plain(), -1);
  for (const std::int64_t rows : {4, 5}) expect_answer(model, rows);
  EXPECT_EQ(counted(model), "built 1, hits 1, evicted 0, other_shapes 1");
}

TEST(NodesOfTfTrt, OptionsOfTheCallerWin) {
  tf::ConvertOptions options = plain();
  options.maximum_cached_engines = 3;
  options.mode = EngineMode::dynamic;
  options.allow_build_at_runtime = true;
  const tf::Model model =
      loaded({flag("static_engine", true), flag("_allow_build_at_runtime", false)}, options);
  for (const std::int64_t rows : {1, 2, 3}) expect_answer(model, rows);
  EXPECT_EQ(counted(model), "built 3, hits 0, evicted 0");
  EXPECT_EQ(counters(model).maximum, 3u);
}

/// Values that are quantised to 8 bits before each product, or not.
std::string int8_node(bool ranges) {
  std::vector<Message> body{floats("w", {width, width}, numbers(width * width))};
  std::string x = "in";
  if (ranges) {
    body.push_back(node({"q", "FakeQuantWithMinMaxArgs", {"in"}, {real("min", -0.2f), real("max", 0.2f)}}));
    x = "q:outputs:0";
  }
  body.push_back(node({"a", "MatMul", {x, "w:output:0"}, {type("T", f32)}}));
  body.push_back(node({"b", "Relu", {"a:product:0"}, {type("T", f32)}}));
  body.push_back(node({"y", "Exp", {"b:activations:0"}, {type("T", f32)}}));
  const std::vector<Message> attributes{types("InT", {f32}), types("OutT", {f32}),
                                        text("precision_mode", "INT8"), flag("use_calibration", false),
                                        function("segment_func", "segment")};
  return graph_def({placeholder("x", f32, {-1, width}), node({"e", "TRTEngineOp", {"x"}, attributes}),
                    node({"y", "Identity", {"e"}, {type("T", f32)}})},
                   {function_definition({"segment", {"in"}, {"out"}, {"y:y:0"}, body})});
}

TEST(NodesOfTfTrt, Int8WithoutCalibrationIsByRangesInTheGraphElseFp16) {
  for (const bool ranges : {true, false}) {
    std::string warnings;
    const TemporaryFolder folder;
    tf::ConvertOptions options = plain();
    options.build.environment.set_log_callback([&](LogLevel level, std::string_view message) {
      if (level == LogLevel::warning) warnings += std::string(message) + "\n";
    });
    const tf::Model model = tf::Model::load(folder.write("graph.pb", int8_node(ranges)), options);
    EXPECT_EQ(answer(model, 2).size(), 2u * width);
    EXPECT_EQ(warnings.find("no node has ranges; it is in FP16") == std::string::npos, ranges) << warnings;
    EXPECT_EQ(counted(model), "built 1, hits 0, evicted 0");
    model.save(folder / "out", false);
    warnings.clear();
    answer(tf::Model::load(folder / "out", options), 2);
    EXPECT_EQ(warnings.find("no node has ranges; it is in FP16") == std::string::npos, ranges) << warnings;
  }
}

TEST(EngineCache, NativeRunsAreInTheModelsOwnTypes) {
  tf::ConvertOptions options = plain();
  options.build.precision.types.insert(DType::bf16);
  options.allow_build_at_runtime = false;
  const tf::Model model = convert(network(), options);
  EXPECT_EQ(answer(model, 4), answer(native_model(), 4));
  model.build(batch(4));
  EXPECT_EQ(answer(model, 4).size(), 4u * width);
  EXPECT_EQ(counted(model), "built 1, hits 1, evicted 0, not_built 1");
}

TEST(EngineCache, OptionsOfBuildsThatDoNotFitAreErrorsOfTheConversionInAllModes) {
  for (const auto mode :
       {std::optional<EngineMode>(), std::optional(EngineMode::fixed), std::optional(EngineMode::dynamic)}) {
    tf::ConvertOptions options = plain();
    options.mode = mode;
    options.build.precision.types.insert(DType::i8); // neither data nor ranges
    LANNER_EXPECT_ERROR(convert(network(), options), ErrorCode::invalid_argument, "give calibration data");
  }
}

/// Of limits: what kernels keep for a thread or the process counts for the engine that needs it first.
constexpr std::uint64_t slack = 512u << 10;

TEST(EngineMemory, TheLeastRecentlyUsedEngineGoesWhereTheLimitIsReached) {
  const tf::Model free = convert(network(), plain());
  std::uint64_t weights = 0, largest = 0;
  for (const std::int64_t rows : {2048, 4096}) expect_answer(free, rows);
  weights = counters(free).weight_bytes;
  for (const tf::CachedEngine& engine : counters(free).cached) largest = std::max(largest, engine.bytes);
  ASSERT_GE(largest, 4096u * width * 4) << "scratch memory for values between products";

  tf::ConvertOptions options = plain();
  options.memory_limit = weights + largest + slack;
  const tf::Model one = convert(network(), options);
  for (const std::int64_t rows : {2048, 4096, 4096}) expect_answer(one, rows);
  EXPECT_EQ(counted(one), "built 2, hits 1, evicted 1");
  EXPECT_EQ(batches(one), (std::vector<std::int64_t>{4096}));
  expect_answer(one, 8192);
  expect_answer(one, 8192);
  expect_answer(one, 4096);
  EXPECT_EQ(counters(one).native.at(tf::NativeCause::memory_limit), 2u) << counted(one);

  options.memory_limit = 1;
  const tf::Model none = convert(network(), options);
  expect_answer(none, 2);
  expect_answer(none, 2);
  EXPECT_EQ(counted(none), "built 0, hits 0, evicted 0, memory_limit 2");
}

TEST(EngineMemory, ASecondRunAtATimeWaitsForTheFirst) {
  const tf::Model free = convert(network(), plain());
  expect_answer(free, 4096);
  tf::ConvertOptions options = plain();
  options.memory_limit = counters(free).weight_bytes + counters(free).cached.at(0).bytes + slack;
  const tf::Model model = convert(network(), options);
  const std::vector<float> wanted = answer(native_model(), 4096);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      tf::Runner runner = model.create_runner();
      for (int i = 0; i < 4; ++i) {
        const Tensor y = runner(batch(4096)).at("y").tensor;
        right += std::ranges::equal(y.as<float>(), wanted,
                                    [](float a, float b) { return std::abs(a - b) < 1e-5f; });
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 12);
  EXPECT_EQ(counted(model), "built 1, hits 11, evicted 0");
  EXPECT_LE(counters(model).weight_bytes + counters(model).cached.at(0).bytes, *options.memory_limit);
}

TEST(EngineMemory, AnAllocatorOfTheCallersIsUsed) {
  CountingAllocator allocator;
  tf::ConvertOptions options = plain();
  options.build.environment.set_allocator(allocator.table());
  {
    const tf::Model model = convert(network(), options);
    const std::size_t before = allocator.given();
    expect_answer(model, 256);
    EXPECT_GT(allocator.given(), before);
    allocator.fail(1);
    LANNER_EXPECT_ERROR(answer(model, 256), ErrorCode::out_of_memory, "bytes of host memory");
    expect_answer(model, 256);
  }
  EXPECT_EQ(allocator.held(), 0u);
  EXPECT_EQ(allocator.wrong(), "");
}

/// A cache whose engine takes batches up to 4; native runs take any.
struct Bounded {
  std::atomic<std::size_t> made{0};
  std::atomic<bool> blocked{false};
  std::shared_ptr<tf::CacheGroup> group = std::make_shared<tf::CacheGroup>();
  std::string file =
      graph_def({placeholder("TensorRTInputPH_0", f32, {-1, 2}),
                 node({"TensorRTOutputPH_0", "Neg", {"TensorRTInputPH_0"}, {type("T", f32)}})});
  std::int64_t most = 4;
  tf::EngineCache cache{
      "part", {}, group, [this](bool native, const Control&) { return engine(native); }, false};

  Engine engine(bool native) {
    BuildOptions build = plain().build;
    if (!native) {
      ++made;
      while (blocked) std::this_thread::yield();
      check_made();
      build.shapes["TensorRTInputPH_0"] = {{1, 2}, {1, 2}, {most, 2}};
    }
    return Engine::build(open_bytes(std::as_bytes(std::span(file)), nullptr), build);
  }
  void check_made() const {
    if (most == 0) throw Error(ErrorCode::internal, "no kernel");
  }
  /// The cause of a native run; empty: an engine ran.
  std::string taken(std::int64_t rows) {
    const tf::PartShapes shapes{{rows, 2}};
    auto taken = cache.take(shapes, 0, {});
    const auto* cause = std::get_if<tf::NativeCause>(&taken);
    return cause ? std::string(to_string(*cause)) : "";
  }
};

TEST(FailedBuilds, AreRememberedByTheirShapesAndNotTriedAgain) {
  Bounded bounded;
  EXPECT_EQ(bounded.taken(8), "build_failed");
  EXPECT_EQ(bounded.taken(8), "build_failed");
  EXPECT_EQ(bounded.taken(4), "") << "other shapes are tried";
  EXPECT_EQ(bounded.made, 1u);
  const EngineCounters all = bounded.cache.counters();
  EXPECT_EQ(all.native.at(tf::NativeCause::build_failed), 2u);
  EXPECT_EQ(all.cached.size(), 1u) << "it takes no place of an engine";
  EXPECT_NE(all.build_error.find("8"), std::string::npos) << all.build_error;
}

TEST(FailedBuilds, OfThePartItselfMakeAllRunsNative) {
  Bounded bounded;
  bounded.most = 0;
  for (const std::int64_t rows : {1, 2, 1}) EXPECT_EQ(bounded.taken(rows), "build_failed");
  EXPECT_EQ(bounded.made, 1u);
  EXPECT_EQ(bounded.cache.counters().build_error, "no kernel");
  EXPECT_EQ(bounded.cache.native_engine({}).inputs().at(0).name, "TensorRTInputPH_0");
  Bounded eager;
  eager.most = 0;
  eager.cache.make_engine({});
  EXPECT_EQ(eager.taken(1), "build_failed") << "the conversion goes on";
}

TEST(FailedBuilds, ACancelledBuildIsTriedAgain) {
  Bounded bounded;
  Control control;
  control.cancel = CancelToken::create();
  control.cancel.cancel();
  const tf::PartShapes shapes{{2, 2}};
  LANNER_EXPECT_ERROR(bounded.cache.take(shapes, 0, control), ErrorCode::cancelled, "cancelled");
  EXPECT_EQ(bounded.taken(2), "");
}

TEST(FailedBuilds, ARunThatWaitsForAnothersBuildCanBeCancelled) {
  Bounded bounded;
  bounded.blocked = true;
  std::thread builder([&] { EXPECT_EQ(bounded.taken(4), ""); });
  while (bounded.made == 0) std::this_thread::yield();
  for (const std::int64_t rows : {2, 3}) { // served by that engine
    Control control;
    control.cancel = CancelToken::create();
    std::thread waiter([&] {
      const tf::PartShapes shapes{{rows, 2}};
      LANNER_EXPECT_ERROR(bounded.cache.take(shapes, 0, control), ErrorCode::cancelled, "cancelled");
    });
    control.cancel.cancel();
    waiter.join();
  }
  bounded.blocked = false;
  builder.join();
  EXPECT_EQ(bounded.taken(2), "");
  EXPECT_EQ(bounded.made, 1u);
  EXPECT_EQ(bounded.cache.counters().hits, 1u);
}

} // namespace
} // namespace lanner::test
