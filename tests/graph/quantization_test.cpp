// Quantised storages: text, verification, copies, keys.

#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/copy.h"
#include "graph/storage/quantization.h"
#include "graph/test_ops.h"
#include "graph/text/text.h"
#include "graph/verifier.h"

namespace lanner {
using test::graph_test_ops;

namespace {

/// A graph whose %y has this storage; %s, %z and %b are inputs of its node.
std::string graph_with(std::string_view storage) {
  return fmt::format(
      "graph @g(%x: f32[4, 64], %s: f32[], %z: i8[], %b: f32[4, 2]) -> (%y: f32[4, 64] as \"y\") {{\n"
      "  %y: f32[4, 64] @ {} = reorder(%x, %s, %z, %b)\n}}\n",
      storage);
}

std::unique_ptr<Graph> parsed(std::string_view storage) {
  return parse_graph(graph_with(storage), graph_test_ops());
}

class Spelled : public testing::TestWithParam<const char*> {};

TEST_P(Spelled, ReadsBackTheSame) {
  const auto graph = parsed(GetParam());
  EXPECT_EQ(graph->find("y")->storage.to_string(), GetParam());
  EXPECT_EQ(print(*graph), graph_with(GetParam()));
  const auto copy = graph->clone();
  EXPECT_EQ(print(*copy), graph_with(GetParam()));
  for (const Value* value : values_of(copy->find("y")->storage)) EXPECT_EQ(value, copy->find(value->name()));
}

INSTANTIATE_TEST_SUITE_P(Storages, Spelled,
                         testing::Values("i8 row scale=0.1 zero=3", "i8 ba cuda:0 scale=0.1",
                                         "i8 row scale=%s zero=%z", "u8 row scale=%s zero=128",
                                         "i8 row scale=[0.1, 0.25, 1.0, 2.0] zero=[0, 1, -1, 7] axis=0",
                                         "i4 row scale=%b axis=1 block=32",
                                         "f4e2m1 row scale=%b axis=1 block=32", "f8e4m3fn row scale=0.5",
                                         "i32 row scale=0.001"));

class Hostile : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Hostile, IsRefusedWithItsReason) {
  LANNER_EXPECT_ERROR(parsed(GetParam().first), ErrorCode::bad_data, GetParam().second);
}

using Case = std::pair<const char*, const char*>;
INSTANTIATE_TEST_SUITE_P(
    Storages, Hostile,
    testing::Values(Case{"i8 row zero=3", "without a scale"}, Case{"i8 row axis=1", "without a scale"},
                    Case{"row scale=0.1", "stored as f32"}, Case{"i64 row scale=0.1", "stored as i64"},
                    Case{"f16 row scale=0.1", "stored as f16"}, Case{"bool row scale=0.1", "stored as bool"},
                    Case{"i8 row scale=0.0", "scale 0, expected"},
                    Case{"i8 row scale=-1.0", "scale -1, expected"}, Case{"i8 row scale=nan", "scale nan"},
                    Case{"i8 row scale=inf", "scale inf"},
                    Case{"i8 row scale=0.1 zero=128", "zero point 128, expected a whole number of i8"},
                    Case{"i4 row scale=0.1 zero=-9", "zero point -9"},
                    Case{"f8e4m3fn row scale=0.1 zero=1", "zero point 1"},
                    Case{"i8 row scale=0.1 zero=9000000000", "does not fit 32 bits"},
                    Case{"i8 row scale=[0.1, 0.2] axis=0", "2 numbers, expected one, or 4"},
                    Case{"i8 row scale=[0.1, 0.2]", "2 numbers, expected one"},
                    Case{"i8 row scale=[]", "a scale"},
                    Case{"i8 row scale=0.1 axis=2", "axis 2 of a value of rank 2"},
                    Case{"i8 row scale=0.1 axis=-1", "an axis"},
                    Case{"i8 row scale=%b axis=1 block=0 block=-2", "a block"},
                    Case{"i8 row scale=%s block=32", "block 32 along axis -1"},
                    Case{"i8 row scale=0.1 axis=1 block=32", "of blocks is a list of numbers"},
                    Case{"i8 row scale=%b axis=1 block=16", "scale of type f32[4, 2]"},
                    Case{"i8 row scale=%b axis=0 block=32", "scale of type f32[4, 2]"},
                    Case{"i8 row scale=%b axis=1", "scale of type f32[4, 2]"},
                    Case{"i8 row scale=%z", "scale of type i8[]"},
                    Case{"i8 row scale=%s zero=%s", "zero point of type f32[]"},
                    Case{"u8 row scale=%s zero=%z", "zero point of type i8[]"},
                    Case{"i8 row scale=%y", "scale of type f32[4, 64]"},
                    Case{"i8 row scale=%none", "%none is not defined"}));

TEST(Quantization, OfIntegersIsRefused) {
  LANNER_EXPECT_ERROR(parse_graph("graph @g(%x: i32[4] @ i8 row scale=0.1) -> (%x) {}", graph_test_ops()),
                      ErrorCode::bad_data, "quantization of i32[4], expected a tensor of reals");
}

TEST(Quantization, StorageOfAnInputMayReferToValues) {
  const char* text = "graph @g(%x: f32[4] @ i8 row scale=%s, %s: f32[]) -> (%y: f32[4] as \"y\") {\n"
                     "  %y: f32[4] = plus(%x, %s)\n}\n";
  EXPECT_EQ(print(*parse_graph(text, graph_test_ops())), text);
}

TEST(Quantization, ReaderWithoutTheScaleAsInputIsRefused) {
  LANNER_EXPECT_ERROR(parse_graph("graph @g(%x: f32[4], %s: f32[]) -> (%y: f32[4] as \"y\") {\n"
                                  "  %a: f32[4] @ i8 row scale=%s = plus(%x, %s)\n  %y = positive(%a)\n}",
                                  graph_test_ops()),
                      ErrorCode::bad_data, "the storage of %a reads %s, which is not an input of the node");
}

TEST(Quantization, ConstantScaleNeedNotBeAnInput) {
  const auto graph = parse_graph("graph @g(%x: f32[4]) -> (%y: f32[4] as \"y\") {\n"
                                 "  %s = constant() {value = f32[](0.5)}\n"
                                 "  %a: f32[4] @ i8 row scale=%s = positive(%x)\n  %y = positive(%a)\n}",
                                 graph_test_ops());
  EXPECT_EQ(values_of(graph->find("a")->storage), std::vector<Value*>{graph->find("s")});
}

TEST(Quantization, ScalesMayBeQuantised) {
  const auto graph = parse_graph("graph @g(%x: f32[4, 32]) -> (%y: f32[4, 32] as \"y\") {\n"
                                 "  %g = constant() {value = f32[](0.25)}\n"
                                 "  %s: f32[4, 2] @ f8e4m3fn row scale=%g = constant() {value = "
                                 "random(f32[4, 2], seed = 1, std = 1.0)}\n"
                                 "  %a: f32[4, 32] @ f4e2m1 row scale=%s axis=1 block=16 = positive(%x)\n"
                                 "  %y: f32[4, 32] = positive(%a)\n}",
                                 graph_test_ops());
  EXPECT_EQ(values_of(graph->find("a")->storage), (std::vector<Value*>{graph->find("s"), graph->find("g")}));
}

TEST(Quantization, CyclesOfScalesAreRefused) {
  LANNER_EXPECT_ERROR(
      parse_graph("graph @g(%s: f32[] @ f8e4m3fn row scale=%t, %t: f32[] @ f8e4m3fn row scale=%s) -> (%s) {}",
                  graph_test_ops()),
      ErrorCode::bad_data, "its own scale");
}

TEST(Quantization, ScalesOfAnotherRegionAreRefused) {
  LANNER_EXPECT_ERROR(
      parse_graph(
          "graph @g(%x: f32[4], %c: f32[]) -> (%y: f32[4] as \"y\") {\n"
          "  %y = choose(%c; %x) ((%p: f32[4]) -> (%q) { %q: f32[4] @ i8 row scale=%c = positive(%p) },"
          " (%r: f32[4]) -> (%r) {})\n}",
          graph_test_ops()),
      ErrorCode::bad_data, "%c belongs to another region");
}

TEST(Quantization, KeysReferToValuesByInputIndex) {
  const auto one = parsed("i8 row scale=%s zero=%z");
  const auto other =
      parse_graph("graph @g(%a: f32[4, 64], %b: f32[], %c: i8[]) -> (%d: f32[4, 64] as \"y\") {\n"
                  "  %d: f32[4, 64] @ i8 row scale=%b zero=%c = reorder(%a, %b, %c)\n}",
                  graph_test_ops());
  const auto key = [](const Graph& graph, const char* name) {
    const Value& value = *graph.find(name);
    return storage_key(value.storage, *value.producer());
  };
  EXPECT_EQ(key(*one, "y"), "i8 row scale=%1 zero=%2");
  EXPECT_EQ(key(*other, "d"), key(*one, "y"));
  EXPECT_NE(one->find("y")->storage, other->find("d")->storage);
}

TEST(Quantization, IsComparedByContent) {
  EXPECT_EQ(parsed("i8 row scale=0.1")->find("y")->storage, parsed("i8 row scale=0.1")->find("y")->storage);
  EXPECT_NE(parsed("i8 row scale=0.1")->find("y")->storage, parsed("i8 row scale=0.2")->find("y")->storage);
  EXPECT_NE(parsed("i8 row scale=0.1")->find("y")->storage, parsed("i8 row")->find("y")->storage);
}

} // namespace
} // namespace lanner
