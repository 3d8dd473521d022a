// Outputs in the memory of inputs, and inputs that a run may overwrite.

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/counting_allocator.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "program/memory/memory.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::numbers;
using test::ramp;

BuildOptions with_aliases(std::vector<AliasNames> aliases) {
  BuildOptions options = test::plain_options();
  options.aliases = std::move(aliases);
  return options;
}

std::vector<float> plus(std::vector<float> values, float number) {
  for (float& value : values) value += number;
  return values;
}

TEST(Aliases, OutputUsesTheInputsMemory) {
  const std::string file = model(graph({.nodes = {node({"Add", {"x", "one"}, {"y"}})},
                                        .inputs = {value("x", f32, {"2", "3"})},
                                        .outputs = {value("y", f32, {"2", "3"})},
                                        .constants = {floats("one", {}, {1})}}));
  const TemporaryFolder folder;
  const Engine made = built(file, with_aliases({{"y", "x"}}));
  made.save(folder.path() / "a.plan");
  for (const Engine& engine : {made, Engine::load(folder.path() / "a.plan")}) {
    EXPECT_TRUE(engine.inputs()[0].overwritten);
    Context context = engine.create_context();
    Tensor x = ramp({2, 3});
    context.bind("x", x);
    for (int run = 1; run <= 3; ++run) {
      context.run();
      EXPECT_EQ(numbers(x), plus(numbers(ramp({2, 3})), static_cast<float>(run)));
    }
    EXPECT_EQ(context.output("y").tensor.data(), x.data());
    LANNER_EXPECT_ERROR(context.bind_output("y", ramp({2, 3})), ErrorCode::invalid_argument, "none can be");
    LANNER_EXPECT_ERROR(context.bind("x", test::laid_out(ramp({2, 3}), "ba")), ErrorCode::invalid_argument,
                        "output y is to be written");
  }
}

/// Readers of the input after the output's kernel get the old value: the result is copied there at the end.
TEST(Aliases, ReadersOfTheInputGetTheOldValue) {
  const std::string file = model(
      graph({.nodes = {node({"Softmax", {"x"}, {"y"}, {attribute("axis", 0)}}), node({"Exp", {"y"}, {"e"}}),
                       node({"MatMul", {"e", "x"}, {"z"}}), node({"Identity", {"x"}, {"same"}})},
             .inputs = {value("x", f32, {"3", "3"})},
             .outputs = {value("y", f32, {"3", "3"}), value("z", f32, {"3", "3"}),
                         value("same", f32, {"3", "3"})}}));
  Context plain = built(file, test::plain_options()).create_context();
  const auto want = plain({{"x", ramp({3, 3})}});
  Context context = built(file, with_aliases({{"y", "x"}})).create_context();
  Tensor x = ramp({3, 3});
  const auto got = context({{"x", x}});
  for (const char* name : {"y", "z", "same"})
    EXPECT_EQ(numbers(got.at(name).tensor), numbers(want.at(name).tensor)) << name;
  EXPECT_EQ(numbers(x), numbers(want.at("y").tensor));
}

/// A cache of fixed size; a run writes one row.
TEST(Aliases, CacheIsUpdatedInPlace) {
  const std::string file =
      model(graph({.nodes = {node({"ScatterND", {"cache", "place", "row"}, {"updated"}}),
                             node({"ReduceSum", {"updated", "axes"}, {"y"}, {attribute("keepdims", 0)}})},
                   .inputs = {value("cache", f32, {"5", "2"}), value("place", i64, {"1", "1"}),
                              value("row", f32, {"1", "2"})},
                   .outputs = {value("y", f32, {"2"}), value("updated", f32, {"5", "2"})},
                   .constants = {integers("axes", {1}, {0})}}));
  const Engine engine = built(file, with_aliases({{"updated", "cache"}}));
  EXPECT_EQ(engine.lowered_ir().find("reorder"), std::string::npos) << engine.lowered_ir();
  Context context = engine.create_context();
  Tensor cache = Tensor::zeros(DType::f32, {5, 2});
  context.bind("cache", cache);
  std::vector<float> want(10, 0.f), sums(2, 0.f);
  for (std::int64_t place : {3, 0, 4}) {
    context.bind("place", Tensor::from<std::int64_t>(std::vector<std::int64_t>{place}, {1, 1}));
    const float first = static_cast<float>(place) + 1;
    context.bind("row", ramp({1, 2}, first));
    context.run();
    for (std::size_t i = 0; i < 2; ++i) {
      want[static_cast<std::size_t>(place) * 2 + i] = first + static_cast<float>(i);
      sums[i] += first + static_cast<float>(i);
    }
    EXPECT_EQ(numbers(cache), want);
    EXPECT_EQ(numbers(context.output("y").tensor), sums);
  }
}

TEST(Aliases, TwoInputsCanBeSwapped) {
  const std::string file =
      model(graph({.nodes = {node({"Identity", {"a"}, {"a_out"}}), node({"Identity", {"b"}, {"b_out"}})},
                   .inputs = {value("a", f32, {"4"}), value("b", f32, {"4"})},
                   .outputs = {value("a_out", f32, {"4"}), value("b_out", f32, {"4"})}}));
  Context swap = built(file, with_aliases({{"a_out", "b"}, {"b_out", "a"}})).create_context();
  Tensor a = ramp({4}), b = ramp({4}, 10);
  swap.bind("a", a);
  swap.bind("b", b);
  swap.run();
  EXPECT_EQ(numbers(a), numbers(ramp({4}, 10)));
  EXPECT_EQ(numbers(b), numbers(ramp({4})));
  swap.run();
  EXPECT_EQ(numbers(a), numbers(ramp({4})));
  Context itself = built(file, with_aliases({{"a_out", "a"}})).create_context();
  itself.bind("a", a);
  itself.bind("b", b);
  itself.run();
  EXPECT_EQ(itself.output("a_out").tensor.data(), a.data());
  EXPECT_EQ(numbers(a), numbers(ramp({4})));
}

/// Out of memory a run is tried again, but not where that would read what the failed run wrote.
TEST(Aliases, ARunThatWroteItsInputIsNotRepeated) {
  const std::string file = model(
      graph({.nodes = {node({"Add", {"x", "one"}, {"y"}}), node({"Exp", {"y"}, {"z"}}),
                       node({"NonZero", {"y"}, {"places"}})},
             .inputs = {value("x", f32, {"n"})},
             .outputs = {value("y", f32, {"n"}), value("z", f32, {"n"}), value("places", i64, {"1", "k"})},
             .constants = {floats("one", {}, {1})}}));
  test::CountingAllocator allocator;
  Context context = built(file, with_aliases({{"y", "x"}})).create_context();
  const auto run = [&](const Tensor& x, std::size_t refused) {
    allocator.fail(refused);
    context.bind("x", x);
    context.run({}, {}, {nullptr, refused > 0 ? allocator.table() : nullptr});
  };
  run(ramp({4}), 0);
  run(ramp({2}), 0); // now memory kept for 4 can be freed
  const Tensor x = ramp({2});
  run(x, 1); // the memory of z is refused, before any kernel
  EXPECT_EQ(numbers(x), (std::vector<float>{1, 2}));
  EXPECT_TRUE(allocator.refused());
  run(ramp({4}), 0);
  const Tensor written = ramp({4});
  LANNER_EXPECT_ERROR(run(written, 2), ErrorCode::out_of_memory, "allocator refused"); // that of places
  EXPECT_LE(numbers(written)[0], 1);
}

TEST(Aliases, RejectWhatDoesNotFit) {
  const std::string file =
      model(graph({.nodes = {node({"Transpose", {"x"}, {"y"}}), node({"NonZero", {"x"}, {"n"}})},
                   .inputs = {value("x", f32, {"2", "c"}), value("i", i64, {"2", "p"})},
                   .outputs = {value("y", f32, {"c", "2"}), value("n", i64, {"2", "k"})}}));
  const auto refused = [&](const AliasNames& alias) {
    BuildOptions options = with_aliases({alias});
    options.shapes = {{"x", ShapeRange::fixed({2, 1})}, {"i", ShapeRange::fixed({2, 1})}};
    return built(file, options);
  };
  LANNER_EXPECT_ERROR(refused({"q", "x"}), ErrorCode::invalid_argument, "no output 'q'");
  LANNER_EXPECT_ERROR(refused({"y", "q"}), ErrorCode::invalid_argument, "no input 'q'");
  LANNER_EXPECT_ERROR(refused({"n", "x"}), ErrorCode::invalid_argument, "one type and shape");
  LANNER_EXPECT_ERROR(refused({"y", "x"}), ErrorCode::invalid_argument, "output y: f32[1, 2] does not fit");
  LANNER_EXPECT_ERROR(refused({"n", "i"}), ErrorCode::unsupported, "the size of output");
}

/// softmax -> transpose -> softmax -> transpose: the input's memory is free after the first step.
std::string steps_model() {
  return model(graph(
      {.nodes = {node({"Softmax", {"x"}, {"a"}, {attribute("axis", 1)}}), node({"Transpose", {"a"}, {"b"}}),
                 node({"Softmax", {"b"}, {"c"}, {attribute("axis", 1)}}),
                 node({"Softmax", {"c"}, {"d"}, {attribute("axis", 0)}}),
                 node({"CumSum", {"d", "axis"}, {"y"}})},
       .inputs = {value("x", f32, {"64", "64"})},
       .outputs = {value("y", f32, {"64", "64"})},
       .constants = {integers("axis", {}, {0})}}));
}

TEST(Overwritable, InputsHoldLaterValues) {
  Context plain = built(steps_model(), test::plain_options()).create_context();
  BuildOptions options = test::plain_options();
  options.overwritable = {"x"};
  const Engine engine = built(steps_model(), options);
  Context lent = engine.create_context();
  for (int run = 0; run < 3; ++run) {
    const Tensor x = ramp({64, 64}, static_cast<float>(run));
    const Tensor want = plain({{"x", x}}).at("y").tensor;
    EXPECT_EQ(numbers(lent({{"x", x.clone()}}).at("y").tensor), numbers(want));
  }
  EXPECT_LE(lent.arena_bytes() + 64 * 64 * sizeof(float), plain.arena_bytes());
  options.overwritable = {"q"};
  LANNER_EXPECT_ERROR(built(steps_model(), options), ErrorCode::invalid_argument, "no input 'q'");
}

TEST(Overwritable, FitIntoPlacesWhatFits) {
  const std::vector<BufferRequest> wanted{{64, {0, 1}},  {100, {0, 1}}, {0, {0, 9}},
                                          {300, {2, 3}}, {64, {2, 3}},  {70, {2, 3}}};
  const auto places = fit_into(wanted, 256, 64);
  ASSERT_EQ(places.size(), wanted.size());
  EXPECT_EQ(places[1], 0u);
  EXPECT_EQ(places[0], 128u);
  EXPECT_FALSE(places[2]); // empty
  EXPECT_FALSE(places[3]); // too large
  EXPECT_EQ(places[5], 0u);
  EXPECT_EQ(places[4], 128u);
}

} // namespace
} // namespace lanner
