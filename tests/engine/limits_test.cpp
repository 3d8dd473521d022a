// Small models that would use all memory or time: each ends in a limit's error, within that limit's memory.

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "sanitized.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test::onnx_file;

constexpr std::uint64_t mebibyte = 1 << 20;

BuildOptions bounded(std::uint64_t bytes = 64 * mebibyte) {
  BuildOptions options = test::plain_options();
  options.limits.total_bytes = bytes;
  return options;
}

Engine built(const std::string& bytes, const BuildOptions& options = bounded()) {
  return test::built(bytes, options);
}

Tensor list(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
}

/// A field of /proc/self/status, in bytes.
std::uint64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":")) return std::stoull(line.substr(field.size() + 1)) << 10;
  return 0;
}

struct Outcome {
  std::string error; ///< Code and message; empty: none.
  std::uint64_t grown = 0;
};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
    return "";
  } catch (const Error& error) {
    return fmt::format("{}: {}", to_string(error.code()), error.message());
  }
}

/// Runs `body` in a child process; its error, and the peak growth of that process.
Outcome in_child(const std::function<void()>& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::ofstream("/proc/self/clear_refs") << 5; // the peak starts from here
    const std::uint64_t before = status_bytes("VmRSS");
    const std::string error = error_of(body);
    const std::string answer = fmt::format("{} {}", status_bytes("VmHWM") - before, error);
    const bool told = ::write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char part[4096];
  for (ssize_t count; (count = ::read(ends[0], part, sizeof part)) > 0;)
    answer.append(part, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const std::size_t space = answer.find(' ');
  if (space == std::string::npos) return {};
  return {answer.substr(space + 1), std::stoull(answer.substr(0, space))};
}

/// Expects `body` to fail at total_bytes = 64 MiB without using much more.
void expect_bounded(const std::function<void()>& body) {
  const Outcome outcome = in_child(body);
  EXPECT_TRUE(outcome.error.starts_with("limit_exceeded: ")) << outcome.error;
  EXPECT_NE(outcome.error.find("over the limit total_bytes of 67108864; if the input is trusted, raise it "
                               "with --limit total_bytes=N"),
            std::string::npos)
      << outcome.error;
  EXPECT_EQ(outcome.error.find('\n'), std::string::npos);
  EXPECT_TRUE(test::sanitized || outcome.grown < 160 * mebibyte) << outcome.grown;
}

void run(const Engine& engine, const std::map<std::string, Item>& inputs) {
  engine.create_context()(inputs);
}

Message string_constant(std::string_view name, std::string_view characters) {
  return tensor(name, text, {1}).bytes(6, characters);
}

/// t1 = t0 + t0, t2 = t1 + t1 and so on.
std::string doubling(int times, const std::string& characters, bool constant) {
  GraphSpec spec;
  for (int i = 0; i < times; ++i)
    spec.nodes.push_back(node({"StringConcat",
                               {fmt::format("t{}", i), fmt::format("t{}", i)},
                               {i + 1 == times ? "y" : fmt::format("t{}", i + 1)}}));
  spec.outputs = {value("y", text, {"1"})};
  if (constant)
    spec.constants = {string_constant("t0", characters)};
  else
    spec.inputs = {value("t0", text, {"1"})};
  return model(graph(spec));
}

TEST(Greedy, DoublingStringsHitTheMemoryLimit) {
  const std::string folded = doubling(30, std::string(1000, 'x'), true);
  expect_bounded([&] { run(built(folded), {}); });
  const std::string given = doubling(30, "", false);
  const Tensor start = Tensor::from<std::string>(std::vector{std::string(1000, 'x')}, {1});
  expect_bounded([&] { run(built(given), {{"t0", start}}); });
}

TEST(Greedy, ShortModelDoesNotFoldToALargePlan) {
  const Engine engine = built(doubling(16, std::string(1000, 'x'), true), bounded(1024 * mebibyte));
  EXPECT_LT(engine.ir().size(), 4 * mebibyte);
  const Item y = engine.create_context()({}).at("y");
  EXPECT_EQ(y.tensor.as<std::string>()[0].size(), 65536000u);
}

/// One string repeated by `op` as often as an input says.
std::string repeating(std::string_view op, std::size_t characters) {
  return model(graph({.nodes = {node({std::string(op), {"c", "n"}, {"y"}})},
                      .inputs = {value("n", i64, {"1"})},
                      .outputs = {value("y", text, {"?"})},
                      .constants = {string_constant("c", std::string(characters, 'x'))}}));
}

TEST(Greedy, RepeatedStringsHitTheMemoryLimit) {
  for (const std::string_view op : {"Expand", "Tile"}) {
    const std::string one = repeating(op, 1), long_one = repeating(op, 1 << 16);
    expect_bounded([&] { run(built(one), {{"n", list({20'000'000})}}); });
    expect_bounded([&] { run(built(long_one), {{"n", list({100'000})}}); });
  }
}

/// A loop of 2^40 iterations that returns `out`, 1000 floats, `fresh` in each iteration or not.
std::string stacking(bool fresh) {
  const Message body = graph(
      {.nodes = {node({fresh ? "Neg" : "Identity", {"x"}, {"out"}}), node({"Identity", {"go"}, {"on"}})},
       .inputs = {value("i", i64, {}), value("go", boolean, {})},
       .outputs = {value("on", boolean, {}), value("out", f32, {"1000"})}});
  return model(graph({.nodes = {node({"Loop", {"n", ""}, {"y"}, {graph_attribute("body", body)}})},
                      .inputs = {value("n", i64, {}), value("x", f32, {"1000"})},
                      .outputs = {value("y", f32, {"?", "1000"})}}));
}

TEST(Greedy, EndlesslyStackingLoopHitsTheMemoryLimit) {
  const Item turns = Tensor::scalar(std::int64_t{1} << 40), x = Tensor::zeros(DType::f32, {1000});
  const std::string fresh = stacking(true), shared = stacking(false);
  expect_bounded([&] { run(built(fresh), {{"n", turns}, {"x", x}}); });
  expect_bounded([&] { run(built(shared), {{"n", turns}, {"x", x}}); });
}

TEST(Greedy, EndlesslyGrowingSequenceHitsTheMemoryLimit) {
  const Message body =
      graph({.nodes = {node({"SequenceInsert", {"s", "x"}, {"next"}}), node({"Identity", {"go"}, {"on"}})},
             .inputs = {value("i", i64, {}), value("go", boolean, {}), Message().bytes(1, "s")},
             .outputs = {value("on", boolean, {}), Message().bytes(1, "next")}});
  const std::string file =
      model(graph({.nodes = {node({"SequenceEmpty", {}, {"none"}}),
                             node({"Loop", {"n", "", "none"}, {"all"}, {graph_attribute("body", body)}}),
                             node({"SequenceLength", {"all"}, {"y"}})},
                   .inputs = {value("n", i64, {}), value("x", f32, {"4"})},
                   .outputs = {value("y", i64, {})}}));
  const Engine engine = built(file, bounded(mebibyte));
  LANNER_EXPECT_ERROR(
      run(engine, {{"n", Tensor::scalar(std::int64_t{1} << 40)}, {"x", Tensor::zeros(DType::f32, {4})}}),
      ErrorCode::limit_exceeded, "--limit total_bytes=N");
}

/// 2^21 strings, each of the last one's characters.
std::string text_graph(std::size_t characters) {
  return fmt::format(R"(node {{ name: "c" op: "Const" attr {{ key: "dtype" value {{ type: DT_STRING }} }}
    attr {{ key: "value" value {{ tensor {{ dtype: DT_STRING tensor_shape {{ dim {{ size: 1024 }} dim {{ size: 1024 }} }}
      string_val: "{}" }} }} }} }}
    node {{ name: "y" op: "Identity" input: "c" attr {{ key: "T" value {{ type: DT_STRING }} }} }})",
                     std::string(characters, 'x'));
}

TEST(Greedy, TensorFlowTextOfStringsHitsTheMemoryLimit) {
  const std::string graph = text_graph(64 << 10);
  expect_bounded([&] { built(graph); });
}

TEST(Greedy, ExcessiveRankOfAnOperatorIsRejected) {
  const std::vector<std::int64_t> ones(5000, 1);
  const auto through = [&](std::string_view op) {
    return model(graph({.nodes = {node({std::string(op),
                                        op == "ConstantOfShape" ? std::vector<std::string>{"n"}
                                                                : std::vector<std::string>{"x", "n"},
                                        {"y"}})},
                        .inputs = {value("x", f32, {"1"})},
                        .outputs = {Message().bytes(1, "y")},
                        .constants = {integers("n", {5000}, ones)}}));
  };
  for (const std::string_view op : {"Reshape", "Expand", "ConstantOfShape"})
    LANNER_EXPECT_ERROR(built(through(op)), ErrorCode::limit_exceeded, "raise it with --limit rank=N");
  const std::vector<std::string> sizes(5000, "1");
  const std::string declared = model(graph({.nodes = {node({"Neg", {"x"}, {"y"}})},
                                            .inputs = {value("x", f32, sizes)},
                                            .outputs = {Message().bytes(1, "y")}}));
  LANNER_EXPECT_ERROR(built(declared), ErrorCode::limit_exceeded, "raise it with --limit rank=N");
}

TEST(Greedy, ExcessiveRankFromCallersAndOtherFormatsIsRejected) {
  const std::string file = model(
      graph({.nodes = {node({"Neg", {"x"}, {"y"}})},
             .inputs = {Message().bytes(1, "x").message(2, Message().message(1, Message().integer(1, f32)))},
             .outputs = {Message().bytes(1, "y")}}));
  const Shape ones(std::vector<std::int64_t>(5000, 1));
  BuildOptions options = bounded();
  options.shapes["x"] = ShapeRange::fixed(ones);
  LANNER_EXPECT_ERROR(built(file, options), ErrorCode::limit_exceeded, "input x: rank 5000");
  const Engine engine = built(file);
  const Tensor value = Tensor::wrap(Tensor::zeros(DType::f32, {1}).data(), DType::f32, ones, nullptr);
  LANNER_EXPECT_ERROR(engine.create_context().bind("x", value), ErrorCode::limit_exceeded,
                      "input x: rank 5000");
  LANNER_EXPECT_ERROR(engine.prepare({{"x", ones}}), ErrorCode::limit_exceeded, "input x: rank 5000");
  std::string dims;
  for (int i = 0; i < 5000; ++i) dims += "dim { size: 1 } ";
  LANNER_EXPECT_ERROR(
      built("node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } "
            "attr { key: \"shape\" value { shape { " +
            dims + "} } } }"),
      ErrorCode::limit_exceeded, "raise it with --limit rank=N");
}

TEST(Greedy, HigherRankLimitIsRespected) {
  const std::string file =
      model(graph({.nodes = {node({"Reshape", {"x", "n"}, {"y"}})},
                   .inputs = {value("x", f32, {"1"})},
                   .outputs = {Message().bytes(1, "y")},
                   .constants = {integers("n", {70}, std::vector<std::int64_t>(70, 1))}}));
  BuildOptions options = bounded();
  LANNER_EXPECT_ERROR(built(file, options), ErrorCode::limit_exceeded, "rank 70, over the limit rank of 64");
  options.limits.rank = 100;
  EXPECT_EQ(built(file, options).outputs()[0].dims.size(), 70u);
}

/// A loop whose condition stays true.
std::string endless() {
  const Message body =
      graph({.nodes = {node({"Identity", {"go"}, {"on"}}), node({"Neg", {"s"}, {"next"}})},
             .inputs = {value("i", i64, {}), value("go", boolean, {}), value("s", f32, {"4"})},
             .outputs = {value("on", boolean, {}), value("next", f32, {"4"})}});
  return model(graph({.nodes = {node({"Loop", {"n", "", "x"}, {"y"}, {graph_attribute("body", body)}})},
                      .inputs = {value("n", i64, {}), value("x", f32, {"4"})},
                      .outputs = {value("y", f32, {"4"})}}));
}

TEST(Greedy, RunEndsAtTheTimeLimit) {
  const Engine engine = built(endless());
  Context context = engine.create_context();
  const Item x = Tensor::zeros(DType::f32, {4});
  // Changes the engine's limits directly, so that the run and not the build hits them.
  double& seconds = const_cast<Limits&>(state_of(engine).limits).seconds;
  seconds = 0.05;
  LANNER_EXPECT_ERROR(context({{"n", Tensor::scalar(INT64_MAX)}, {"x", x}}), ErrorCode::limit_exceeded,
                      "raise it with --limit seconds=N");
  seconds = 0;
  EXPECT_NO_THROW(context({{"n", Tensor::scalar(std::int64_t{3})}, {"x", x}}));
}

TEST(Greedy, BuildAndLoadEndAtTheTimeLimit) {
  const std::string file = endless();
  TemporaryFolder folder;
  built(file).save(folder / "a.plan");
  BuildOptions options = bounded();
  options.limits.seconds = 1e-9;
  LANNER_EXPECT_ERROR(built(file, options), ErrorCode::limit_exceeded, "raise it with --limit seconds=N");
  LoadOptions load;
  load.limits.seconds = 1e-9;
  LANNER_EXPECT_ERROR(Engine::load(folder / "a.plan", load), ErrorCode::limit_exceeded,
                      "raise it with --limit seconds=N");
}

TEST(Greedy, ResultsKeptByTheCallerCountAndOutliveTheContext) {
  const std::string file = model(graph({.nodes = {node({"Neg", {"x"}, {"y"}})},
                                        .inputs = {value("x", f32, {"1000000"})},
                                        .outputs = {value("y", f32, {"1000000"})}}));
  std::optional<Engine> engine = built(file, bounded(20 * mebibyte));
  std::optional<Context> context = engine->create_context();
  std::vector<Item> kept;
  const Item x = Tensor::zeros(DType::f32, {1'000'000});
  const auto keep = [&] {
    for (int i = 0; i < 100; ++i) kept.push_back((*context)({{"x", x}}).at("y"));
  };
  LANNER_EXPECT_ERROR(keep(), ErrorCode::limit_exceeded, "--limit total_bytes=N");
  EXPECT_GE(kept.size(), 3u);
  EXPECT_LE(kept.size(), 5u);
  kept.resize(1);
  EXPECT_NO_THROW((*context)({{"x", x}}));
  context.reset();
  engine.reset();
  EXPECT_EQ(kept[0].tensor.as<float>()[999'999], 0);
}

TEST(Greedy, ContextSharesTheLimitWithItsEngine) {
  const std::string file = model(graph(
      {.nodes = {node({"Add", {"x", "w"}, {"y"}}), node({"Sub", {"x", "w"}, {"z"}}),
                 node({"Mul", {"x", "w"}, {"p"}})},
       .inputs = {value("x", f32, {"1000000"})},
       .outputs = {value("y", f32, {"1000000"}), value("z", f32, {"1000000"}), value("p", f32, {"1000000"})},
       .constants = {floats("w", {1'000'000}, std::vector<float>(1'000'000, 2))}}));
  const Item x = Tensor::zeros(DType::f32, {1'000'000});
  const Engine enough = built(file, bounded(64 * mebibyte));
  EXPECT_NO_THROW(run(enough, {{"x", x}}));
  // The weight and each result take four megabytes.
  const Engine tight = built(file, bounded(14 * mebibyte));
  LANNER_EXPECT_ERROR(run(tight, {{"x", x}}), ErrorCode::limit_exceeded, "--limit total_bytes=N");
}

} // namespace
} // namespace lanner
