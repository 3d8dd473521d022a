// Malicious files: each gives a graph or an Error of one line; never a crash, a hang or memory beyond the
// limits.

#include <random>

#include <gtest/gtest.h>

#include "importers/importing.h"
#include "importers/onnx_file.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

std::vector<Message> xs() {
  return {value("x", f32, {"2"})};
}
std::vector<Message> ys() {
  return {value("y", f32, {"2"})};
}

/// `x` through `nodes` to `y`.
std::string through(std::vector<Message> nodes, std::vector<Message> constants = {},
                    std::vector<Message> functions = {}) {
  return model(
      graph({.nodes = std::move(nodes), .inputs = xs(), .outputs = ys(), .constants = std::move(constants)}),
      21, functions);
}

std::string with_constant(const Message& constant) {
  return through({node({"Add", {"x", "w"}, {"y"}})}, {constant});
}

#define LANNER_EXPECT_OUTCOME(result, expected)                                                              \
  do {                                                                                                       \
    const std::string got = (result);                                                                        \
    EXPECT_NE(got.find(expected), std::string::npos) << got.substr(0, 500);                                  \
  } while (false)

TEST(HostileModel, TruncatedFilesAreRefused) {
  const std::string file = varied_model();
  ASSERT_EQ(outcome(file).substr(0, 6), "graph ");
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t length = file.size() * i / 200;
    SCOPED_TRACE(length);
    EXPECT_NE(outcome(std::string_view(file).substr(0, length)).substr(0, 6), "graph ");
  }
}

TEST(HostileModel, RandomByteChangesGiveAGraphOrAnError) {
  const TemporaryFolder folder;
  folder.write("w", std::string(12, 'x'));
  const std::string file = varied_model("w");
  ASSERT_EQ(outcome(file, folder.path()).substr(0, 6), "graph ");
  Limits limits;
  limits.tensor_bytes = limits.total_bytes = 1 << 24;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string changed = file;
    for (std::uint32_t i = 0; i <= seed % 4; ++i)
      changed[random() % changed.size()] = static_cast<char>(random());
    EXPECT_FALSE(outcome(changed, folder.path(), limits).empty());
  }
}

std::string of_version(std::int64_t version, const NodeSpec& spec, std::vector<Message> constants) {
  return model(graph({.nodes = {node(spec)},
                      .inputs = {value("x", f32, {"2", "3"})},
                      .outputs = {value("y", f32, {"?", "?"})},
                      .constants = std::move(constants)}),
               version);
}

TEST(HostileModel, InvalidAxesOfOldVersionsAreRefused) {
  const auto added = [](std::int64_t axis) {
    return outcome(
        of_version(6, {"Add", {"x", "w"}, {"y"}, {attribute("broadcast", 1), attribute("axis", axis)}},
                   {floats("w", {2}, {1, 2})}));
  };
  LANNER_EXPECT_OUTCOME(added(0), "graph ");
  LANNER_EXPECT_OUTCOME(added(-2), "graph ");
  LANNER_EXPECT_OUTCOME(added(2), "axis 2 for operands of rank 2 and 1");
  LANNER_EXPECT_OUTCOME(added(-(std::int64_t{1} << 60)), "axis -1152921504606846976 for operands");
  LANNER_EXPECT_OUTCOME(added(INT64_MAX), "for operands of rank 2 and 1");
  const auto tiled = [](const Message& axis) {
    return outcome(of_version(5, {"Tile", {"x", "n", "a"}, {"y"}}, {integers("n", {}, {2}), axis}));
  };
  LANNER_EXPECT_OUTCOME(tiled(integers("a", {}, {1})), "graph ");
  LANNER_EXPECT_OUTCOME(tiled(integers("a", {0}, {})), "its axis is i64[0], expected one number");
  LANNER_EXPECT_OUTCOME(tiled(integers("a", {}, {5})), "axis 5 for rank 2");
}

TEST(HostileModel, InvalidAxesOfTransposeAndReduceAreRefused) {
  const auto turned = [](const std::vector<std::int64_t>& perm) {
    return outcome(of_version(13, {"Transpose", {"x"}, {"y"}, {attribute("perm", perm)}}, {}));
  };
  LANNER_EXPECT_OUTCOME(turned({1, 0}), "graph ");
  for (const std::vector<std::int64_t>& perm : {std::vector<std::int64_t>{0, -1}, {1, 1}, {0, 2}})
    LANNER_EXPECT_OUTCOME(turned(perm), "expected each axis from 0 to 1 once");
  LANNER_EXPECT_OUTCOME(turned({0}), "perm has 1 axes for rank 2");
  const auto summed = [](const std::vector<std::int64_t>& axes) {
    const auto count = static_cast<std::int64_t>(axes.size());
    return outcome(of_version(13, {"ReduceSum", {"x", "a"}, {"y"}}, {integers("a", {count}, axes)}));
  };
  LANNER_EXPECT_OUTCOME(summed({0, -1}), "graph ");
  LANNER_EXPECT_OUTCOME(summed({1, -1}), "axes contain axis 1 twice");
  LANNER_EXPECT_OUTCOME(summed({2}), "axes 2 out of range for rank 2");
  LANNER_EXPECT_OUTCOME(summed(std::vector<std::int64_t>(100, 0)), "has 100 axes, expected at most 2");
}

TEST(HostileModel, FilesOfOtherKindsAreRefused) {
  LANNER_EXPECT_OUTCOME(outcome(""), "the file is empty; expected a model");
  LANNER_EXPECT_OUTCOME(outcome("hello there, this is text"), "starts with 'hello th'");
  LANNER_EXPECT_OUTCOME(outcome(std::string(100, '\0')), "not a model");
  LANNER_EXPECT_OUTCOME(outcome("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"),
                        "a Git LFS pointer of 67 bytes, not the model itself; run: git lfs pull");
  LANNER_EXPECT_OUTCOME(outcome(model(Message())), "holds no graph");
  LANNER_EXPECT_OUTCOME(
      outcome(model(graph({.nodes = {node({"Relu", {"x"}, {"y"}})}, .inputs = xs(), .outputs = {}}))),
      "no outputs");
}

TEST(HostileModel, DamageIsReportedWithItsPosition) {
  std::string file = varied_model();
  const std::size_t at = file.find("twice");
  file[at - 1] = '\x7f'; // the name's length
  LANNER_EXPECT_OUTCOME(outcome(file), "byte 25, graph.node.output: not a whole protobuf message");
}

TEST(HostileModel, ExternalDataOutsideTheFolderIsRefused) {
  const TemporaryFolder outside, folder;
  outside.write("secret", std::string(64, 's'));
  folder.write("w", std::string(64, 'w'));
  std::filesystem::create_symlink(outside / "secret", folder / "link");
  std::filesystem::create_directory_symlink(outside.path(), folder / "elsewhere");
  std::filesystem::create_hard_link(outside / "secret", folder / "hard");
  std::filesystem::create_directory(folder / "dir");
  const auto location = [&](const std::string& name) {
    return outcome(with_constant(external("w", {2}, {{"location", name}})), folder.path());
  };
  ASSERT_EQ(location("w").substr(0, 6), "graph ");
  LANNER_EXPECT_OUTCOME(location("../" + outside.path().filename().string() + "/secret"), "the path goes up");
  LANNER_EXPECT_OUTCOME(location("dir/../../secret"), "the path goes up");
  LANNER_EXPECT_OUTCOME(location((outside / "secret").string()), "the path is absolute");
  LANNER_EXPECT_OUTCOME(location("link"), "symbolic link");
  LANNER_EXPECT_OUTCOME(location("elsewhere/secret"), "symbolic link");
  LANNER_EXPECT_OUTCOME(location("hard"), "hard links");
  LANNER_EXPECT_OUTCOME(location("dir"), "dir");
  LANNER_EXPECT_OUTCOME(location("none"), "not_found");
  LANNER_EXPECT_OUTCOME(location(""), "no location");
  LANNER_EXPECT_OUTCOME(location(std::string("w\0.bin", 6)), "zero byte");
  LANNER_EXPECT_OUTCOME(location(std::string(100000, 'a')), "io");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(external("w", {2}, {{"location", "w"}}))),
                        "give the path of the model");
}

TEST(HostileModel, ExternalDataBeyondItsFileIsRefused) {
  const TemporaryFolder folder;
  folder.write("w", std::string(8, 'w'));
  const auto place = [&](const std::string& offset, const std::string& length) {
    return outcome(
        with_constant(external("w", {2}, {{"location", "w"}, {"offset", offset}, {"length", length}})),
        folder.path());
  };
  ASSERT_EQ(place("0", "8").substr(0, 6), "graph ");
  LANNER_EXPECT_OUTCOME(place("1", "8"), "expected 8 bytes at offset 1 of w, the file has 8 bytes");
  LANNER_EXPECT_OUTCOME(place("18446744073709551615", "8"), "the file has 8 bytes");
  LANNER_EXPECT_OUTCOME(place("18446744073709551616", "8"), "is not a number");
  LANNER_EXPECT_OUTCOME(place("-1", "8"), "is not a number");
  LANNER_EXPECT_OUTCOME(place("0x0", "8"), "is not a number");
  LANNER_EXPECT_OUTCOME(place("0", "9"), "needs 8 bytes, length says 9");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", text, {2})
                                                  .message(13, Message().bytes(1, "location").bytes(2, "w"))
                                                  .integer(14, 1)),
                                folder.path()),
                        "strings");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {2}).integer(14, 2)), folder.path()),
                        "data_location is 2");
}

TEST(HostileModel, TensorsWithWrongSizesAreRefused) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {huge, huge}))), "limit_exceeded");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {0, huge, huge}))), "limit_exceeded");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {1 << 30}))),
                        "needs 1073741824 values, the file has 0");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {-1}))), "must not be negative");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {2}).bytes(9, "abc"))), "raw_data has 3");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", 99, {2}))), "element type 99");
  LANNER_EXPECT_OUTCOME(
      outcome(with_constant(tensor("w", f32, std::vector<std::int64_t>(100, 1)).bytes(9, "abcd"))),
      "rank 100, over the limit rank of 64");
}

TEST(HostileModel, BoolsOtherThanZeroAndOneAreRefused) {
  const TemporaryFolder folder;
  folder.write("two", "\2");
  const auto branch = [](const char* op) {
    return graph({.nodes = {node({op, {"x"}, {"z"}})}, .inputs = {}, .outputs = {value("z", f32, {"2"})}});
  };
  const Message choice =
      node({"If",
            {"c"},
            {"y"},
            {graph_attribute("then_branch", branch("Relu")), graph_attribute("else_branch", branch("Neg"))}});
  const auto chosen_by = [&](const Message& condition) {
    return outcome(through({choice}, {condition}), folder.path());
  };
  const auto condition = [] { return tensor("c", boolean, {}); };
  const std::string refused = "tensor 'c': a bool is neither 0 nor 1";
  ASSERT_EQ(chosen_by(condition().bytes(9, "\1")).substr(0, 6), "graph ");
  ASSERT_EQ(chosen_by(condition().packed(5, {1})).substr(0, 6), "graph ");
  LANNER_EXPECT_OUTCOME(chosen_by(condition().bytes(9, "\2")), refused);
  for (const std::int64_t number : {2, 256, -1})
    LANNER_EXPECT_OUTCOME(chosen_by(condition().packed(5, {number})), refused);
  const Message place = Message().bytes(1, "location").bytes(2, "two");
  LANNER_EXPECT_OUTCOME(chosen_by(condition().message(13, place).integer(14, 1)), refused);
}

TEST(HostileModel, SparseTensorsStayWithinTheLimits) {
  const auto sparse = [](std::vector<std::int64_t> dims, std::vector<std::int64_t> places) {
    const auto count = static_cast<std::int64_t>(places.size());
    return Message()
        .message(1, floats("w", {count}, std::vector<float>(places.size(), 1)))
        .message(2, integers("", {count}, places))
        .packed(3, dims);
  };
  const auto import = [](const std::vector<Message>& tensors) {
    Message g = graph({.nodes = {node({"Relu", {"x"}, {"y"}})}, .inputs = xs(), .outputs = ys()});
    for (const Message& tensor : tensors) g.message(15, tensor);
    Limits limits;
    limits.tensor_bytes = 1 << 20;
    limits.total_bytes = 1 << 22;
    return outcome(model(g), {}, limits);
  };
  EXPECT_EQ(import({sparse({1000}, {999})}).substr(0, 6), "graph ");
  LANNER_EXPECT_OUTCOME(import({sparse({1 << 30}, {0})}), "limit_exceeded");
  LANNER_EXPECT_OUTCOME(import(std::vector<Message>(20, sparse({1 << 18}, {0}))),
                        "over the limit total_bytes of 4194304");
  LANNER_EXPECT_OUTCOME(import({sparse({10}, {10})}), "index 10 is outside");
  LANNER_EXPECT_OUTCOME(import({sparse({10}, {-1})}), "index -1 is outside");
  LANNER_EXPECT_OUTCOME(import({sparse({10, 10}, {5, -7})}), "is outside");
}

TEST(HostileModel, DeepNestingIsRefused) {
  Message deepest = graph({.nodes = {node({"Relu", {"x"}, {"y"}})}, .inputs = {}, .outputs = ys()});
  for (int i = 0; i < 1000; ++i)
    deepest = graph({.nodes = {node({"If", {"x"}, {"y"}, {graph_attribute("then_branch", deepest)}})},
                     .inputs = {},
                     .outputs = ys()});
  LANNER_EXPECT_OUTCOME(outcome(model(deepest)), "over the limit depth of 64");

  Message type = Message().message(1, Message().integer(1, f32));
  for (int i = 0; i < 10000; ++i) type = Message().message(4, Message().message(1, type));
  LANNER_EXPECT_OUTCOME(
      outcome(
          model(graph({.nodes = {}, .inputs = {Message().bytes(1, "x").message(2, type)}, .outputs = ys()}))),
      "over the limit depth of 64");
}

TEST(HostileModel, DeeplyNestedLoopsAreRefused) {
  const std::vector<Message> inputs{value("i", i64, {}), value("c", boolean, {})};
  const std::vector<Message> outputs{value("d", boolean, {}), value("e", i64, {})};
  const Message condition = node({"Identity", {"c"}, {"d"}}), count = node({"Identity", {"i"}, {"e"}});
  Message body = graph({.nodes = {condition, count}, .inputs = inputs, .outputs = outputs});
  for (int i = 0; i < 12; ++i) {
    const Message inner = node({"Loop", {"i", "c"}, {"s"}, {graph_attribute("body", body)}});
    body = graph({.nodes = {inner, condition, count}, .inputs = inputs, .outputs = outputs});
  }
  const Message g = graph({.nodes = {node({"Loop", {"", ""}, {"s"}, {graph_attribute("body", body)}}),
                                     node({"Relu", {"x"}, {"y"}})},
                           .inputs = xs(),
                           .outputs = ys()});
  LANNER_EXPECT_OUTCOME(outcome(model(g)), "loops are nested deeper than 8");
}

TEST(HostileModel, CyclesAreRefused) {
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Add", {"x", "b"}, {"a"}}), node({"Relu", {"a"}, {"b"}}),
                                         node({"Relu", {"b"}, {"y"}})})),
                        "the graph has a cycle");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"y"}, {"y"}})})), "the graph has a cycle");
}

TEST(HostileModel, NamesWrittenTwiceAreRefused) {
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"x"}, {"y"}}), node({"Neg", {"x"}, {"y"}})})),
                        "'y' is written twice");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Constant", {}, {"x"}, {attribute("value_int", 1)}})})),
                        "'x' is written twice");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Split", {"x"}, {"y", "y"}})})), "'y' is written twice");
  LANNER_EXPECT_OUTCOME(
      outcome(through({node({"Add", {"x", "w"}, {"y"}})}, {floats("w", {1}, {1}), floats("w", {1}, {2})})),
      "'w' is written twice");
  LANNER_EXPECT_OUTCOME(outcome(model(graph({.nodes = {node({"Relu", {"x"}, {"y"}})},
                                             .inputs = {value("x", f32, {}), value("x", f32, {})},
                                             .outputs = ys()}))),
                        "'x' is written twice");
  LANNER_EXPECT_OUTCOME(outcome(model(graph({.nodes = {node({"Relu", {"x"}, {"y"}})},
                                             .inputs = xs(),
                                             .outputs = {value("y", f32, {}), value("y", f32, {})}}))),
                        "given twice");
}

TEST(HostileModel, UndefinedNamesAreRefused) {
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"nowhere"}, {"y"}})})),
                        "'nowhere' is read, but no earlier node writes it");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"x"}, {"z"}})})),
                        "'y' is read, but no earlier node writes it");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {}, {"y"}})})), "0 inputs, expected 1");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {""}, {"y"}})})), "0 inputs, expected 1");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"", {"x"}, {"y"}})})), "unsupported");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"x"}, {"y", "z"}})})), "2 outputs, expected 1");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"x", "x"}, {"y"}})})), "2 inputs, expected 1");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"x"}, {}})})), "0 outputs, expected 1");
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Relu", {"x"}, {"y"}}), node({"Shape", {"x"}, {"s"}}),
                                         node({"Gather", {"s", "i"}, {}, {attribute("axis", 0)}})},
                                        {integers("i", {1}, {0})})),
                        "0 outputs, expected 1");
  LANNER_EXPECT_OUTCOME(
      outcome(model(graph(
          {.nodes = {node({"Relu", {"x"}, {"y"}})}, .inputs = {Message().bytes(1, "x")}, .outputs = ys()}))),
      "its type is missing");
}

TEST(HostileModel, RecursiveFunctionsAreRefused) {
  const Message loop = function({.name = "F",
                                 .inputs = {"x"},
                                 .outputs = {"y"},
                                 .attributes = {},
                                 .nodes = {node({"F", {"x"}, {"y"}, {}, "own"})}});
  LANNER_EXPECT_OUTCOME(outcome(through({node({"F", {"x"}, {"y"}, {}, "own"})}, {}, {loop})),
                        "function F calls itself");
}

TEST(HostileModel, ExponentialFunctionExpansionIsRefused) {
  // Each calls the next twice: 2^40 nodes.
  std::vector<Message> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "Relu" : "F" + std::to_string(i + 1), domain = i == 39 ? "" : "own";
    functions.push_back(function(
        {.name = "F" + std::to_string(i),
         .inputs = {"x"},
         .outputs = {"y"},
         .attributes = {},
         .nodes = {node({next, {"x"}, {"a"}, {}, domain}), node({next, {"a"}, {"y"}, {}, domain})}}));
  }
  Limits limits;
  limits.nodes = 10000;
  LANNER_EXPECT_OUTCOME(outcome(through({node({"F0", {"x"}, {"y"}, {}, "own"})}, {}, functions), {}, limits),
                        "over the limit nodes of 10000");
}

TEST(HostileModel, AttributeReferenceOutsideAFunctionIsRefused) {
  LANNER_EXPECT_OUTCOME(outcome(through({node({"Elu", {"x"}, {"y"}, {reference("alpha", "a", 1)}})})),
                        "refers to attribute a of a function, but is in none");
}

TEST(HostileModel, MoreNodesThanTheLimitAreRefused) {
  Limits limits;
  limits.nodes = 10;
  std::vector<Message> nodes;
  for (int i = 0; i < 11; ++i)
    nodes.push_back(node({"Relu", {"x"}, {i == 0 ? "y" : "y" + std::to_string(i)}}));
  LANNER_EXPECT_OUTCOME(outcome(through(nodes), {}, limits), "over the limit nodes of 10");
}

TEST(HostileModel, ParsedObjectsCountTowardsTheByteLimit) {
  Limits limits;
  limits.total_bytes = 1 << 20;
  Message many_values;
  for (int i = 0; i < 10000; ++i) many_values.message(11, Message());
  LANNER_EXPECT_OUTCOME(outcome(model(many_values), {}, limits), "over the limit total_bytes of 1048576");
  Message many_names;
  for (int i = 0; i < 100000; ++i) many_names.bytes(1, "");
  LANNER_EXPECT_OUTCOME(outcome(model(Message().message(1, many_names)), {}, limits),
                        "over the limit total_bytes of 1048576");
  LANNER_EXPECT_OUTCOME(
      outcome(with_constant(tensor("w", i64, {1 << 18}).packed(7, std::vector<std::int64_t>(1 << 18, 1))), {},
              limits),
      "over the limit total_bytes of");
}

TEST(HostileModel, LongNamesAreCutInGraphsAndMessages) {
  const std::string bomb(1 << 16, 'n');
  // The name is stored once, not once per node or message.
  std::vector<Message> nodes;
  for (int i = 0; i < 50; ++i)
    nodes.push_back(node({"Relu",
                          {i == 0 ? "x" : bomb + std::to_string(i - 1)},
                          {i == 49 ? "y" : bomb + std::to_string(i)},
                          {},
                          "",
                          bomb}));
  EXPECT_LT(outcome(through(nodes)).size(), 100000u);
  EXPECT_LT(outcome(through({node({bomb, {"x"}, {"y"}})})).size(), 5000u);
  EXPECT_LT(outcome(through({node({"Relu", {bomb}, {"y"}})})).size(), 5000u);
  EXPECT_LT(outcome(with_constant(tensor(bomb, 99, {2}))).size(), 5000u);
  // outcome() expects one line whatever the names hold.
  for (const char* name : {"a\nb", "a\rb", "\x1b[2J", "\xff\xfe", "a\tb"}) {
    outcome(through({node({"Relu", {"x"}, {"y"}, {}, "", name}), node({"Relu", {name}, {"z"}})}));
    outcome(through({node({name, {"x"}, {"y"}})}));
    outcome(through({node({"Elu", {"x"}, {"y"}, {attribute(name, std::int64_t{1})}})}));
    outcome(model(graph({.nodes = {node({"Relu", {name}, {"y"}}), node({"Bad", {"y"}, {"z"}})},
                         .inputs = {value(name, f32, {name})},
                         .outputs = ys()})));
  }
}

TEST(HostileModel, WrongLengthsOfPackedFieldsAreRefused) {
  LANNER_EXPECT_OUTCOME(
      outcome(with_constant(Message().bytes(1, "\xff\xff\xff").integer(2, f32).bytes(8, "w"))),
      "not a whole protobuf message");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {2}).bytes(4, "12345"))),
                        "not a whole protobuf message");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", 11, {2}).bytes(10, "123456789"))),
                        "not a whole protobuf message");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {2}).integer(4, 1))),
                        "float_data has another type");
  LANNER_EXPECT_OUTCOME(outcome(with_constant(tensor("w", f32, {2}).integer(9, 1))),
                        "raw_data has another type");
  LANNER_EXPECT_OUTCOME(outcome(model(Message().integer(1, 5))), "graph");
}

} // namespace
} // namespace lanner::test
