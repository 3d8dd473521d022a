#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "base/check.h"
#include "expect_error.h"
#include "graph/infer.h"
#include "graph/storage/quantization.h"
#include "graph/test_ops.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "source_dir.h"
#include "tensor/content_hash.h"

namespace lanner {

using test::graph_test_ops;

static std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static std::string golden(std::string_view name) {
  return read(test::source_dir() / "tests/graph" / name);
}

// The file is in printed form already, so it must print back byte by byte.
TEST(Text, GoldenFilesReadAndPrintTheSame) {
  for (const char* name : {"every_form.ir", "regions.ir", "lowered.ir"}) {
    const std::string text = golden(name);
    ASSERT_FALSE(text.empty()) << name;
    const auto graph = parse_graph(text, graph_test_ops());
    EXPECT_EQ(print(*graph), text) << name;
    EXPECT_EQ(print(*graph->clone()), text) << name;
  }
}

TEST(Text, MissingTypesAreInferred) {
  const auto graph = parse_graph("graph @g(%x: f32[N, 3]) -> (%y) { symbol N in [1, 9] %y = positive(%x) }",
                                 graph_test_ops());
  EXPECT_EQ(graph->find("y")->type.to_string(), "f32[N, 3]");
  EXPECT_EQ(graph->output_names()[0], "y");
}

TEST(Text, ConstantsOfEveryElementType) {
  const char* texts[] = {"f32[3](1.5, nan, -inf)",
                         "f32[1](hex 0100c07f)",
                         "f64[](0.1)",
                         "f16[2](hex 003c0000)",
                         "bf16[1](hex 803f)",
                         "i8[2](-128, 127)",
                         "u8[1](255)",
                         "u64[1](18446744073709551615)",
                         "i64[1](-9223372036854775808)",
                         "bool[2](true, false)",
                         "string[2](\"a\\n\\\"\", \"\")",
                         "i4[3](hex 2103)",
                         "c64[0](hex )",
                         "f8e4m3fn[1](hex 38)",
                         "f32[0, 4]()",
                         "f32[1](1e-45)",
                         "f32[1](3.4028235e+38)"};
  for (const char* text : texts) {
    const std::string whole = fmt::format("graph @g() -> () {{\n  %c: {} = constant() {{value = {}}}\n}}\n",
                                          std::string(text).substr(0, std::string(text).find('(')), text);
    EXPECT_EQ(print(*parse_graph(whole, graph_test_ops())), whole);
  }
}

TEST(Text, LargeConstantsArePrintedByReference) {
  Graph graph(graph_test_ops(), "g");
  const Value* c = graph.constant(Tensor::zeros(DType::f32, {17}), "w");
  const std::string hashed = print(graph);
  EXPECT_NE(hashed.find(fmt::format("hash(\"{:016x}\", f32[17])", content_hash(*c->constant()))),
            std::string::npos)
      << hashed;
  LANNER_EXPECT_ERROR(parse_graph(hashed, graph_test_ops()), ErrorCode::bad_data,
                      "2:37: a constant given by its hash");
  PrintOptions options;
  options.name_constant = [](const Value& value, const Tensor&) {
    return "file(\"w.safetensors\", \"" + value.name() + "\")";
  };
  const std::string named = print(graph, options);
  LANNER_EXPECT_ERROR(parse_graph(named, graph_test_ops()), ErrorCode::bad_data, "no tensor store");
  const auto find = [&](std::string_view file, std::string_view name) {
    EXPECT_EQ(file, "w.safetensors");
    check(name == "w", ErrorCode::not_found, "no tensor {}", name);
    return *c->constant();
  };
  EXPECT_EQ(print(*parse_graph(named, graph_test_ops(), find), options), named);
  const std::string other =
      "graph @g() -> () { %c: f32[17] = constant() {value = file(\"w.safetensors\", \"v\")} }";
  LANNER_EXPECT_ERROR(parse_graph(other, graph_test_ops(), find), ErrorCode::not_found, "no tensor v");
}

TEST(Text, RandomConstantsAreTheSameEverywhere) {
  const auto graph = parse_graph("graph @g() -> () { %c: f32[3, 1000] = constant() {value = random(f32[3, "
                                 "1000], seed = 7, std = 0.5)} }",
                                 graph_test_ops());
  const auto values = graph->find("c")->constant()->as<float>();
  double sum = 0, squares = 0;
  for (float x : values) sum += x, squares += double(x) * x;
  EXPECT_NEAR(sum / 3000, 0, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 3000), 0.5, 0.02);
  EXPECT_EQ(content_hash(*graph->find("c")->constant()), 1559960567880164974u);
}

struct Wrong {
  const char *text, *message;
  ErrorCode code = ErrorCode::bad_data;
};

TEST(Text, ErrorsGiveLineAndColumn) {
  const Wrong wrongs[] = {
      {"", "1:1: expected `graph`, found the end of the text"},
      {"graph @g(%x: f32[1]) -> (%y) {\n  %y: f32[1] = positve(%x)\n}",
       "2:16: operator positve is not known; did you mean positive?"},
      {"graph @g(%x: f32[1]) -> (%y) { %y = positive(%z) }", "%z is not defined before it is used"},
      {"graph @g(%x: f32[1]) -> (%y) { }", "1:26: %y is not defined"},
      {"graph @g(%x: f32[1]) -> (%x) { %x = positive(%x) }", "%x is defined twice"},
      {"graph @g(%x: f32[1]) -> (%x as \"a\", %x as \"a\") { }", "output name \"a\" is given twice"},
      {"graph @g(%x: f32[N]) -> (%x) { }", "symbol N is not declared"},
      {"graph @g(%x: f32[1]) -> (%x) { symbol N in [3, 2] }", "expected 0 <= min"},
      {"graph @g(%x: f32[1]) -> (%x) { symbol N in [0, *] symbol N in [0, *] }", "declared twice"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] = positive(%x, %x) }", "2 inputs, expected 1 to 1"},
      {"graph @g(%x: f32[1]) -> () { %y = positive(_) }", "input 0 is missing"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] = positive(%x) {a = 1} }", "positive has no attribute a"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] = constant() {value = 1} }", "expected tensor, got integer"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] = constant() }", "attribute value is missing"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] = fill(%x) {value = 1.0, value = 2.0} }", "given twice"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[2] = constant() {value = f32[2](1.0)} }",
       "1 values for a tensor of shape [2]"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[2] = constant() {value = f32[99999999999, 99999999999]()} }",
       "1:55: shape:", ErrorCode::limit_exceeded},
      {"graph @g(%x: f32[1]) -> () { %y: u8[1] = constant() {value = u8[1](256)} }", "256 does not fit"},
      {"graph @g(%x: f32[1]) -> () { %y = constant() {value = random(f32[99999999999], seed = 1, std = 1.0)} "
       "}",
       "1:55: 399999999996 bytes, over the limit tensor_bytes", ErrorCode::limit_exceeded},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] @ in=%y = positive(%x) }", "is its own parent"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] @ in=%x+1 = positive(%x) }",
       "ends 5 bytes into %x, which has 4"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] @ row within=1:2 = positive(%x) }",
       "%y: is within a larger value along dim 1, but has 1 dims"},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ row within=0:3 = positive(%x) }",
       "%y: is within 3 elements along dim 0, but has 4 there"},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ row within=0:9223372036854775807 = positive(%x) }",
       "%y: tensor bits", ErrorCode::limit_exceeded},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ row within=0:99999999999999999999 = positive(%x) }",
       "out of range"},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ row within=-1:4 = positive(%x) }", "an axis"},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ row within=999:4 = positive(%x) }", "an axis"},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ row within=0 = positive(%x) }", "expected `:`"},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ A4a within=0:8 = positive(%x) }",
       "a layout without blocks"},
      {"graph @g(%x: f32[4]) -> () { %y: f32[4] @ i4 row within=0:8 = positive(%x) }", "whole bytes"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] @ zorn = positive(%x) }", "1:"},
      {"graph @g(%x: f32[1]) -> () { %y: f32[1] @ cuda:99999999999999999999 = positive(%x) }",
       "out of range"},
      {"graph @g(%b: bool[]) -> () { %y: f32[1] = choose(%b) }", "0 regions, expected 2 to 2"},
      {"graph @g(%b: bool[], %x: f32[1]) -> () { %y: f32[1] = choose(%b) (() -> (%x) {}, () -> (%x) {}) }",
       "belongs to another region"},
      {"graph @g(%b: bool[], %x: f32[1]) -> () { %y: f32[1] = choose(%b; %x) (() -> () {}, () -> () {}) }",
       "0 parameters for 1 captures"},
      {"graph @g() -> () { } x", "expected the end of the text"},
      {"graph @g() -> () { meta \"a\" = \"\\q\" }", "unknown escape"},
      {"graph @g() -> () { meta \"a\" = \"b }", "no closing quote"},
      {"graph @\x01() -> () { }", "unexpected byte 0x01"},
  };
  for (const Wrong& wrong : wrongs)
    LANNER_EXPECT_ERROR(parse_graph(wrong.text, graph_test_ops()), wrong.code, wrong.message);
}

TEST(Text, TextTruncatedOrChangedAtAnyByteIsSafe) {
  for (const char* name : {"every_form.ir", "regions.ir"}) {
    const std::string text = golden(name);
    const auto attempt = [&](std::string changed) {
      try {
        const auto graph = parse_graph(changed, graph_test_ops());
        EXPECT_EQ(print(*parse_graph(print(*graph), graph_test_ops())), print(*graph)) << changed;
      } catch (const Error& error) {
        EXPECT_EQ(to_string(error.code()), "bad_data") << error.message();
      }
    };
    const std::size_t whole = text.rfind('}') + 1;
    for (std::size_t i = 0; i < whole; ++i)
      LANNER_EXPECT_ERROR(parse_graph(text.substr(0, i), graph_test_ops()), ErrorCode::bad_data, ":");
    for (std::size_t i = 0; i < text.size(); i += 3) {
      for (char byte : {'\0', '9', '%', ']', '"'}) {
        std::string changed = text;
        changed[i] = byte;
        attempt(changed);
      }
    }
  }
}

TEST(Text, NestingAndCountsAreBounded) {
  std::string deep = "graph @g(%x0: bool[]) -> () {";
  for (int i = 0; i < 500; ++i)
    deep += fmt::format("%y{0} = choose(%x{0}; %x{0}) ((%x{1}) -> () {{", i, i + 1);
  LANNER_EXPECT_ERROR(parse_graph(deep, graph_test_ops()), ErrorCode::limit_exceeded,
                      "over the limit depth of 64");
  Limits limits;
  limits.nodes = 2;
  const char* three = "graph @g(%x: f32[1]) -> () { %a = positive(%x) %b = positive(%x) %c = positive(%x) }";
  LANNER_EXPECT_ERROR(parse_graph(three, graph_test_ops(), {}, limits), ErrorCode::limit_exceeded,
                      "over the limit nodes of 2");
  limits.total_bytes = 1000;
  const char* large = "graph @g() -> () { %c = constant() {value = random(f32[300], seed = 1, std = 1.0)} }";
  LANNER_EXPECT_ERROR(parse_graph(large, graph_test_ops(), {}, limits), ErrorCode::limit_exceeded,
                      "over the limit total_bytes of 1000");
}

// A random graph with regions, captures, odd names and absent inputs.
static void grow(Region& region, std::mt19937& random, int depth) {
  const Type row(DType::f32, Dims{Dim::symbol("N")});
  std::vector<Value*> seen;
  for (const auto& parameter : region.parameters()) seen.push_back(parameter.get());
  const auto pick = [&] { return seen[random() % seen.size()]; };
  const char* names[] = {"a", "data:0", "x y", "\"", "7", "\xc3\xa9", ""};
  const std::uint_fast32_t count = 1 + random() % 6;
  for (std::uint_fast32_t i = 0; i < count; ++i) {
    const std::string name = names[random() % std::size(names)];
    const std::uint_fast32_t kind = random() % (depth < 3 ? 4 : 3);
    if (kind == 0) {
      Node* node = region.create(graph_test_ops().get("plus"), std::vector<Value*>{pick(), pick()});
      seen.push_back(node->add_output(name, row));
    } else if (kind == 1) {
      Node* node = region.create(graph_test_ops().get("settings"), std::vector<Value*>{nullptr, pick()});
      node->attributes.set("real", double(random() % 1000) / 7);
      node->attributes.set("texts", std::vector<std::string>{name, "\n"});
      if (random() % 2) node->sources = {name, "n"};
      seen.push_back(node->add_output(name, row));
    } else if (kind == 2) {
      Node* node = region.create(graph_test_ops().get("positive"), std::vector<Value*>{pick()});
      seen.push_back(node->add_output(name, row));
      Quantization q;
      q.scale.numbers = {double(1 + random() % 100) / 64};
      if (random() % 2) q.zero.numbers = {double(random() % 256) - 128};
      seen.back()->storage.quantization = std::make_shared<const Quantization>(q);
      seen.back()->storage.dtype = DType::i8;
    } else {
      Node* node = region.create(graph_test_ops().get("choose"), std::vector<Value*>{pick()});
      if (random() % 2) node->add_capture(pick());
      for (int r = 0; r < 2; ++r) {
        Region& inner = node->add_region();
        if (r == 0) node->add_capture(pick());
        grow(inner, random, depth + 1);
      }
      seen.push_back(node->add_output(name, row));
    }
  }
  if (region.owner()) region.add_output(pick());
}

TEST(Text, RandomGraphsReadBackTheSame) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Graph graph(graph_test_ops(), seed % 2 ? "g" : "g/1");
    graph.symbols["N"] = {1, 8, seed % 3 ? 4 : -1};
    graph.add_input("x", Type(DType::f32, Dims{Dim::symbol("N")}));
    grow(graph.body(), random, 0);
    graph.add_output("y:0", graph.body().nodes().back()->output());
    verify(graph);
    const std::string text = print(graph);
    const auto back = parse_graph(text, graph_test_ops());
    ASSERT_EQ(print(*back), text);
    ASSERT_EQ(back->node_count(), graph.node_count());
  }
}

} // namespace lanner
