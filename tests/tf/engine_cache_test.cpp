// The cache of engines by shapes: which engine serves a run, counters, eviction, profiles, saved engines.

#include <lanner/tensorflow.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "importers/graph_def_file.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;
using tf::EngineCounters;
using tf::EngineMode;
using tf::EngineShapes;
using tf::NativeCause;
using tf::ProfileStrategy;
using Inputs = std::map<std::string, Item>;

/// y = tanh(-exp(-relu(x))), whose sizes are `dims`.
std::string chain(const std::vector<std::int64_t>& dims) {
  return graph_def(
      {placeholder("x", f32, dims), node({"relu", "Relu", {"x"}, {type("T", f32)}}),
       node({"neg", "Neg", {"relu"}, {type("T", f32)}}), node({"exp", "Exp", {"neg"}, {type("T", f32)}}),
       node({"minus", "Neg", {"exp"}, {type("T", f32)}}), node({"y", "Tanh", {"minus"}, {type("T", f32)}})});
}

/// y = tanh(exp(x + b)), inputs of open sizes or of rank 0.
std::string sum(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& b) {
  return graph_def({placeholder("x", f32, x), placeholder("b", f32, b),
                    node({"add", "AddV2", {"x", "b"}, {type("T", f32)}}),
                    node({"exp", "Exp", {"add"}, {type("T", f32)}}),
                    node({"y", "Tanh", {"exp"}, {type("T", f32)}})});
}

/// Without checks of kernels, which take time.
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

Tensor filled(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) * 0.25f - 0.5f;
  return Tensor::from<float>(values, shape);
}

/// Runs on these sizes, and expects the model's answer, whoever gives it.
void run(tf::Runner& runner, const Shape& shape) {
  const Tensor x = filled(shape);
  const Tensor y = runner({{"x", x}}).at("y").tensor;
  ASSERT_EQ(y.shape(), shape);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.elements()); ++i)
    ASSERT_NEAR(y.as<float>()[i], std::tanh(-std::exp(-std::max(x.as<float>()[i], 0.f))), 1e-5) << i;
}

void run(const tf::Model& model, const Shape& shape) {
  tf::Runner runner = model.create_runner();
  run(runner, shape);
}

EngineCounters counters(const tf::Model& model) {
  EXPECT_EQ(model.counters().size(), 1u);
  return model.counters().at(0);
}

/// `built 3, hits 2, evicted 2, outside_profiles 1`.
std::string counted(const tf::Model& model) {
  const EngineCounters all = counters(model);
  std::string line = fmt::format("built {}, hits {}, evicted {}", all.built, all.hits, all.evicted);
  for (const auto& [cause, runs] : all.native) line += fmt::format(", {} {}", to_string(cause), runs);
  return line;
}

/// Opt shapes of the only input, the most recently used first.
std::vector<Shape> cached(const tf::Model& model) {
  std::vector<Shape> shapes;
  for (const tf::CachedEngine& engine : counters(model).cached)
    shapes.push_back(engine.shapes.at("TensorRTInputPH_0").opt);
  return shapes;
}

const std::vector<Shape> issue_shapes{{8, 224}, {8, 224}, {4, 224}, {8, 299}, {16, 224}};

TEST(EngineCache, CountsBuildsHitsAndEvictionsOfTheShapesInTurn) {
  for (const bool implicit : {false, true})
    for (const auto& [maximum, expected] : {std::pair{1, "built 3, hits 2, evicted 2"},
                                            {2, "built 3, hits 2, evicted 1"},
                                            {100, "built 3, hits 2, evicted 0"}}) {
      tf::ConvertOptions options = plain();
      options.maximum_cached_engines = maximum;
      if (implicit) options.engine_shapes = EngineShapes::implicit_batch;
      const tf::Model model = convert(chain({-1, -1}), options);
      tf::Runner runner = model.create_runner();
      for (const Shape& shape : issue_shapes) run(runner, shape);
      EXPECT_EQ(counted(model), expected) << maximum;
      EXPECT_EQ(counters(model).cached.size(), std::min<std::size_t>(3, static_cast<std::size_t>(maximum)));
      EXPECT_NE(model.summary().find("3 built, 2 hits"), std::string::npos) << model.summary();
    }
}

TEST(EngineCache, AFullCacheEvictsTheLeastRecentlyUsedEngine) {
  tf::ConvertOptions options = plain();
  options.maximum_cached_engines = 2;
  const tf::Model model = convert(chain({-1, -1}), options);
  run(model, {2, 10});
  run(model, {2, 20});
  run(model, {2, 10}); // now [2, 20] is the older one
  run(model, {2, 30});
  EXPECT_EQ(cached(model), (std::vector<Shape>{{2, 30}, {2, 10}}));
  run(model, {2, 20});
  EXPECT_EQ(cached(model), (std::vector<Shape>{{2, 20}, {2, 30}}));
  EXPECT_EQ(counted(model), "built 4, hits 1, evicted 2") << "what was evicted is built again";
}

TEST(EngineCache, TheSmallestEngineThatFitsServesABatch) {
  const tf::Model model = convert(chain({-1, -1}), plain());
  run(model, {4, 8});
  run(model, {16, 8});
  run(model, {8, 8});
  EXPECT_EQ(cached(model).front(), Shape({16, 8}));
  run(model, {3, 8});
  EXPECT_EQ(cached(model).front(), Shape({4, 8}));
  EXPECT_EQ(counted(model), "built 2, hits 2, evicted 0");
  EXPECT_EQ(counters(model).maximum, 16u);
}

TEST(EngineCache, RunsThatMayNotBuildAreNative) {
  tf::ConvertOptions options = plain();
  options.allow_build_at_runtime = false;
  const tf::Model model = convert(chain({-1, -1}), options);
  run(model, {2, 8});
  EXPECT_EQ(counted(model), "built 0, hits 0, evicted 0, not_built 1");
  model.build(Inputs{{"x", filled({2, 8})}});
  run(model, {2, 8});
  run(model, {1, 8});
  run(model, {3, 8});
  EXPECT_EQ(counted(model), "built 1, hits 2, evicted 0, not_built 2");
}

TEST(EngineCache, ImplicitBatchRunsScalarsAndUnequalBatchesNatively) {
  for (const auto shapes : {EngineShapes::implicit_batch, EngineShapes::any}) {
    tf::ConvertOptions options = plain();
    options.engine_shapes = shapes;
    const bool implicit = shapes == EngineShapes::implicit_batch;
    const tf::Model unequal = convert(sum({-1, 4}, {-1, 4}), options);
    unequal.create_runner()({{"x", filled({3, 4})}, {"b", filled({3, 4})}});
    unequal.create_runner()({{"x", filled({3, 4})}, {"b", filled({1, 4})}});
    EXPECT_EQ(counted(unequal),
              implicit ? "built 1, hits 0, evicted 0, unequal_batch 1" : "built 1, hits 1, evicted 0");
    const tf::Model scalar = convert(sum({-1, 4}, {}), options);
    scalar.create_runner()({{"x", filled({3, 4})}, {"b", Tensor::scalar(1.f)}});
    EXPECT_EQ(counted(scalar),
              implicit ? "built 0, hits 0, evicted 0, scalar_input 1" : "built 1, hits 0, evicted 0");
  }
}

TEST(EngineCache, StaticEnginesAreBuiltByTheConversionForOneBatch) {
  tf::ConvertOptions options = plain();
  options.mode = EngineMode::fixed;
  options.max_batch_size = 4;
  const tf::Model model = convert(chain({-1, 8}), options);
  EXPECT_EQ(counted(model), "built 1, hits 0, evicted 0");
  run(model, {4, 8});
  run(model, {2, 8});
  run(model, {5, 8});
  EXPECT_EQ(counted(model), "built 1, hits 2, evicted 0, other_shapes 1");
  LANNER_EXPECT_ERROR(model.build(Inputs{{"x", filled({8, 8})}}), ErrorCode::invalid_argument, "is static");
  const tf::Model known = convert(chain({2, 8}), options);
  run(known, {2, 8});
  EXPECT_EQ(counted(known), "built 1, hits 1, evicted 0");
  const tf::Model open = convert(chain({-1, -1}), options);
  run(open, {4, 8});
  EXPECT_EQ(counted(open), "built 0, hits 0, evicted 0, open_sizes 1");
}

TEST(EngineCache, ADynamicConversionBuildsNothingAndSizesThatAreKnownAreBuiltByDefault) {
  tf::ConvertOptions options = plain();
  const tf::Model known = convert(chain({2, 8}), options);
  EXPECT_EQ(counted(known), "built 1, hits 0, evicted 0");
  run(known, {2, 8});
  EXPECT_EQ(counted(known), "built 1, hits 1, evicted 0");
  options.mode = EngineMode::dynamic;
  const tf::Model dynamic = convert(chain({2, 8}), options);
  EXPECT_EQ(counted(dynamic), "built 0, hits 0, evicted 0");
  EXPECT_EQ(dynamic.parts().at(0).inputs.at(0).to_string(), "TensorRTInputPH_0: f32[2, 8]");
  run(dynamic, {2, 8});
  EXPECT_EQ(counted(dynamic), "built 1, hits 0, evicted 0");
}

tf::Model with_profiles(ProfileStrategy strategy, const std::vector<Shape>& shapes) {
  tf::ConvertOptions options = plain();
  options.profile_strategy = strategy;
  const tf::Model model = convert(chain({-1, -1}), options);
  std::vector<Inputs> inputs;
  for (const Shape& shape : shapes) inputs.push_back({{"x", filled(shape)}});
  model.build(inputs);
  return model;
}

TEST(EngineCache, ProfilesFollowTheirStrategy) {
  const std::vector<Shape> built{{2, 8}, {4, 16}};
  const std::vector<Shape> runs{{2, 8}, {4, 16}, {3, 12}, {1, 8}, {8, 8}};
  for (const auto& [strategy, expected] :
       {std::pair{ProfileStrategy::range, "built 1, hits 3, evicted 0, outside_profiles 2"},
        {ProfileStrategy::optimal, "built 2, hits 2, evicted 0, outside_profiles 3"},
        {ProfileStrategy::range_optimal, "built 3, hits 3, evicted 0, outside_profiles 2"},
        {ProfileStrategy::implicit_batch_compatible, "built 2, hits 3, evicted 0, outside_profiles 2"}}) {
    const tf::Model model = with_profiles(strategy, built);
    for (const Shape& shape : runs) run(model, shape);
    EXPECT_EQ(counted(model), expected) << to_string(strategy);
  }
}

TEST(EngineCache, RangeIsTimedForItsLargestShapesAndItsOwnShapesPreferTheirEngine) {
  const tf::Model range = with_profiles(ProfileStrategy::range, {{2, 16}, {4, 8}});
  const ShapeRange served = counters(range).cached.at(0).shapes.at("TensorRTInputPH_0");
  EXPECT_EQ(served.min, Shape({2, 8}));
  EXPECT_EQ(served.opt, Shape({4, 16}));
  EXPECT_EQ(served.max, Shape({4, 16}));
  const tf::Model both = with_profiles(ProfileStrategy::range_optimal, {{2, 8}, {4, 16}});
  run(both, {2, 8});
  EXPECT_EQ(cached(both).front(), Shape({2, 8}));
  run(both, {3, 8});
  EXPECT_EQ(cached(both).front(), Shape({4, 16}));
}

TEST(EngineCache, WithoutABuildTheFirstRunIsTheOnlyProfile) {
  tf::ConvertOptions options = plain();
  options.engine_shapes = EngineShapes::profiles;
  const tf::Model model = convert(chain({-1, -1}), options);
  run(model, {2, 8});
  run(model, {2, 8});
  run(model, {1, 8});
  EXPECT_EQ(counted(model), "built 1, hits 1, evicted 0, outside_profiles 1");
  model.build(Inputs{{"x", filled({1, 8})}});
  run(model, {1, 8});
  EXPECT_EQ(counted(model), "built 2, hits 2, evicted 0, outside_profiles 1");
}

TEST(EngineCache, StrategiesHaveTfTrtsNames) {
  for (const char* name : {"Range", "Optimal", "Range+Optimal", "ImplicitBatchModeCompatible"})
    EXPECT_EQ(to_string(tf::parse_profile_strategy(name)), name);
  EXPECT_EQ(tf::parse_profile_strategy("range+optimal"), ProfileStrategy::range_optimal);
  LANNER_EXPECT_ERROR(tf::parse_profile_strategy("Best"), ErrorCode::invalid_argument,
                      "expected one of Range");
}

TEST(EngineCache, OptionsOutOfRangeAreRefused) {
  tf::ConvertOptions options = plain();
  options.maximum_cached_engines = 0;
  LANNER_EXPECT_ERROR(convert(chain({-1, 8}), options), ErrorCode::invalid_argument,
                      "maximum_cached_engines 0: expected at least 1");
  options = plain();
  options.max_batch_size = 0;
  LANNER_EXPECT_ERROR(convert(chain({-1, 8}), options), ErrorCode::invalid_argument, "max_batch_size 0");
  options = plain();
  options.profile_strategy = ProfileStrategy::range;
  options.engine_shapes = EngineShapes::any;
  LANNER_EXPECT_ERROR(convert(chain({-1, 8}), options), ErrorCode::invalid_argument, "profile_strategy");
}

TEST(EngineCache, WithoutNativeFallbackSuchRunsAreErrorsWithTheirCause) {
  tf::ConvertOptions options = plain();
  options.allow_build_at_runtime = false;
  options.native_fallback = false;
  const tf::Model model = convert(chain({-1, -1}), options);
  LANNER_EXPECT_ERROR(run(model, {2, 8}), ErrorCode::unsupported, "native_fallback is off");
  EXPECT_EQ(counted(model), "built 0, hits 0, evicted 0, not_built 1");
}

TEST(EngineCache, RunnersThatNeedTheSameEngineBuildItOnce) {
  const tf::Model model = convert(chain({-1, -1}), plain());
  constexpr std::size_t callers = 4, rounds = 5;
  std::atomic<std::size_t> waiting{callers};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < callers; ++t)
    threads.emplace_back([&] {
      tf::Runner runner = model.create_runner();
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      for (std::size_t i = 0; i < rounds; ++i) {
        run(runner, {8, 64});
        run(runner, {8, 65});
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted(model), "built 2, hits 38, evicted 0");
}

TEST(EngineCache, EvictionWhileAnotherRunnerUsesTheEngineIsHarmless) {
  tf::ConvertOptions options = plain();
  options.maximum_cached_engines = 1;
  const tf::Model model = convert(chain({-1, -1}), options);
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      tf::Runner runner = model.create_runner();
      for (int i = 0; i < 6; ++i) run(runner, {4, 32 + t});
    });
  for (std::thread& thread : threads) thread.join();
  const EngineCounters all = counters(model);
  EXPECT_EQ(all.built + all.hits, 18u);
  EXPECT_EQ(all.evicted, all.built - 1);
}

tf::ConvertOptions in_types(std::set<DType> types) {
  tf::ConvertOptions options = plain();
  options.build.precision.types = std::move(types);
  return options;
}

TEST(EngineCache, ASavedPlanOfAnotherPrecisionThanTheAskedOneIsNotTaken) {
  const TemporaryFolder folder;
  const std::map<std::string, Item> inputs{{"x", filled({4, 8})}};
  const auto save = [&](const char* name, const tf::ConvertOptions& options) {
    const tf::Model model = convert(chain({-1, 8}), options);
    model.build(inputs);
    model.save(folder / name);
  };
  const auto loaded = [&](const char* name, const tf::ConvertOptions& options) {
    const tf::Model model = tf::Model::load(folder / name, options);
    static_cast<void>(model.create_runner()(inputs));
    return counted(model);
  };
  const char *built = "built 1, hits 0, evicted 0", *taken = "built 0, hits 1, evicted 0";
  save("fp32", plain());
  save("fp16", in_types({DType::f16}));
  EXPECT_EQ(loaded("fp32", plain()), taken);
  EXPECT_EQ(loaded("fp16", plain()), taken) << "its node says fp16";
  EXPECT_EQ(loaded("fp16", in_types({DType::f16})), taken);
  EXPECT_EQ(loaded("fp32", in_types({DType::f16})), built);
  EXPECT_EQ(loaded("fp32", in_types({DType::f32, DType::bf16})), built);
}

} // namespace
} // namespace lanner::test
