// The segmenter's rules on random graphs, checked by brute force.

#include <random>

#include <gtest/gtest.h>

#include "base/limits/account.h"
#include "expect_error.h"
#include "tf/segment/segmenter.h"
#include "tf/segmenter_graphs.h"

namespace lanner::test {
namespace {

using tf::SegmenterOptions;

int below(std::mt19937& random, int most) {
  return static_cast<int>(random() % static_cast<unsigned>(most));
}

struct Randomness {
  int nodes = 12;
  bool control = true, agreements = false, boundaries = false;
};

/// Names in random order, so that they are no topological order.
SegmenterGraphText random_graph(std::mt19937& random, const Randomness& kind) {
  SegmenterGraphText text;
  std::vector<std::string> names{"in"};
  text.native("in", {});
  for (int i = 0; i < kind.nodes; ++i) {
    const auto earlier = [&] {
      const int window = std::min<int>(static_cast<int>(names.size()), 1 + below(random, 6));
      return names[names.size() - 1 - static_cast<std::size_t>(below(random, window))];
    };
    std::vector<std::string> inputs{earlier()};
    while (below(random, 2) == 0) inputs.push_back(earlier());
    if (kind.control && below(random, 4) == 0) inputs.push_back("^" + earlier());
    const std::string name = fmt::format("{}{}", static_cast<char>('a' + below(random, 26)), i);
    if (kind.boundaries && below(random, 6) == 0) {
      text.add(name,
               below(random, 3) == 0 ? std::vector<std::string>{"^" + earlier()} : std::vector<std::string>{},
               "Const");
      names.push_back(name);
      continue;
    }
    auto& node = below(random, 4) == 0 ? text.native(name, inputs, "Other") : text.add(name, inputs);
    if (kind.agreements && below(random, 3) == 0) node.batch = 1 + below(random, 2);
    if (kind.agreements && below(random, 4) == 0) node.device = fmt::format("/gpu:{}", below(random, 2));
    if (kind.boundaries) {
      node.inputs_may_enter = below(random, 6) != 0;
      node.outputs_may_leave = below(random, 6) != 0;
    }
    names.push_back(name);
  }
  text.fetch_unread();
  return text;
}

SegmenterOptions every_segment() {
  SegmenterOptions options;
  options.minimum_segment_size = 1;
  options.maximum_engines = 0;
  return options;
}

bool agree(const tf::SegmenterGraph& graph, const std::vector<int>& segment, int number) {
  std::set<std::int64_t> batches;
  std::set<std::string> devices;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] != number) continue;
    if (graph.nodes[i].batch) batches.insert(*graph.nodes[i].batch);
    if (!graph.nodes[i].device.empty()) devices.insert(graph.nodes[i].device);
  }
  return batches.size() <= 1 && devices.size() <= 1;
}

/// Pairs of segments with a data edge between them that could be one segment.
int joinable_pairs(const tf::SegmenterGraph& graph, const std::vector<int>& segment) {
  std::set<std::pair<int, int>> pairs;
  for (std::size_t to = 0; to < graph.nodes.size(); ++to)
    for (const tf::NodeOutput& input : graph.nodes[to].inputs)
      if (segment[to] >= 0 && segment[input.node] >= 0 && segment[to] != segment[input.node])
        pairs.emplace(segment[input.node], segment[to]);
  int joinable = 0;
  for (const auto& [a, b] : pairs) {
    std::vector<int> joined = segment;
    for (int& number : joined)
      if (number == b) number = a;
    joinable += !has_cycle(graph, joined) && agree(graph, joined, a);
  }
  return joinable;
}

std::string described(const tf::SegmenterGraph& graph, const std::vector<int>& segment) {
  std::string text;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    text += fmt::format("{} ({}) <-", graph.nodes[i].name, segment[i]);
    for (const auto& input : graph.nodes[i].inputs) text += " " + graph.nodes[input.node].name;
    for (const auto input : graph.nodes[i].control_inputs) text += " ^" + graph.nodes[input].name;
    text += "\n";
  }
  return text;
}

TEST(SegmenterRandom, SegmentsMakeNoCycleAndCouldNotBeJoined) {
  std::mt19937 random(5);
  int segments = 0, several = 0;
  for (int round = 0; round < 6000; ++round) {
    const auto text = random_graph(
        random, {round % 40 == 39 ? 90 : 4 + below(random, 14), round % 2 == 0, round % 3 == 0, false});
    const auto result = tf::segment_graph(text.graph, every_segment());
    const auto segment = numbered(text.graph, result);
    ASSERT_FALSE(has_cycle(text.graph, segment)) << described(text.graph, segment);
    ASSERT_EQ(joinable_pairs(text.graph, segment), 0) << described(text.graph, segment);
    for (std::size_t i = 0; i < result.segments.size(); ++i)
      ASSERT_TRUE(agree(text.graph, segment, static_cast<int>(i)));
    segments += static_cast<int>(result.segments.size());
    several += result.segments.size() > 1;
  }
  EXPECT_GT(segments, 6000);
  EXPECT_GT(several, 1000);
}

void expect_lawful_boundaries(const tf::SegmenterGraph& graph, const tf::Segmentation& result) {
  const auto segment = numbered(graph, result);
  for (std::size_t to = 0; to < graph.nodes.size(); ++to)
    for (const tf::NodeOutput& input : graph.nodes[to].inputs) {
      if (segment[to] == segment[input.node]) continue;
      const tf::SegmenterNode &reader = graph.nodes[to], &writer = graph.nodes[input.node];
      const bool may_enter = segment[to] < 0 || reader.inputs_may_enter || writer.op == "Const";
      const bool may_leave = segment[input.node] < 0 || (writer.outputs_may_leave && writer.op != "Const");
      ASSERT_TRUE(may_enter && may_leave) << described(graph, segment);
    }
}

TEST(SegmenterRandom, TrimmedSegmentsMakeNoCycleAndHaveLawfulBoundaries) {
  std::mt19937 random(6);
  int segments = 0;
  for (int round = 0; round < 6000; ++round) {
    const auto text = random_graph(random, {4 + below(random, 20), true, false, true});
    const auto result = tf::segment_graph(text.graph, every_segment());
    const auto segment = numbered(text.graph, result);
    ASSERT_FALSE(has_cycle(text.graph, segment)) << described(text.graph, segment);
    expect_lawful_boundaries(text.graph, result);
    segments += static_cast<int>(result.segments.size());
  }
  EXPECT_GT(segments, 3000);
}

std::string summary(const tf::SegmenterGraph& graph, const tf::Segmentation& result) {
  const auto name = [&](std::uint32_t node) { return graph.nodes[node].name; };
  std::string text;
  for (const tf::Segment& segment : result.segments) {
    text += segment.name;
    for (const auto node : segment.nodes) text += " " + name(node);
    for (const auto node : segment.constants) text += " const " + name(node);
    for (const auto input : segment.inputs) text += fmt::format(" in {}:{}", name(input.node), input.output);
    for (const auto output : segment.outputs)
      text += fmt::format(" out {}:{}", name(output.node), output.output);
    for (const auto node : segment.control_inputs) text += " ^" + name(node);
    text += "\n";
  }
  std::set<std::string> native;
  for (const tf::NativeNode& node : result.native)
    native.insert(name(node.node) + ": " + node.reason.code + ": " + node.reason.text);
  for (const std::string& line : native) text += line + "\n";
  return text;
}

TEST(SegmenterRandom, TheOrderOfTheNodesChangesNothing) {
  std::mt19937 random(7);
  SegmenterOptions options;
  options.minimum_segment_size = 2;
  options.maximum_engines = 3;
  for (int round = 0; round < 300; ++round) {
    const auto text = random_graph(random, {40, true, round % 2 == 0, round % 3 == 0});
    const std::string expected = summary(text.graph, tf::segment_graph(text.graph, options));
    for (int again = 0; again < 3; ++again) {
      const auto other = shuffled(text.graph, random);
      ASSERT_EQ(summary(other, tf::segment_graph(other, options)), expected);
    }
  }
}

// Large graphs: what would take the square of their size does not end in the time that a test has.

/// A chain of candidates, where every `period`-th is native; 0: none.
SegmenterGraphText long_chain(int length, int period) {
  SegmenterGraphText text;
  text.native("in", {});
  std::string last = "in", before = "in";
  for (int i = 0; i < length; ++i) {
    const std::string name = fmt::format("n{}", i);
    if (period != 0 && i % period == 1)
      text.native(name, {last}, "Other");
    else
      text.add(name, {last, before});
    before = std::exchange(last, name);
  }
  text.fetch(last);
  return text;
}

TEST(SegmenterLarge, ChainsAndWideGraphsTakeLinearTime) {
  constexpr int size = 100000;
  EXPECT_EQ(tf::segment_graph(long_chain(size, 0).graph, every_segment()).segments.size(), 1u);
  EXPECT_EQ(tf::segment_graph(long_chain(size, 2).graph, every_segment()).segments.size(), size / 2u);
  SegmenterGraphText wide;
  wide.native("in", {});
  wide.add("first", {"in"});
  std::vector<std::string> sides;
  for (int i = 0; i < size; ++i) {
    sides.push_back(fmt::format("side{}", i));
    i % 2 == 0 ? wide.add(sides.back(), {"first"}) : wide.native(sides.back(), {"first"}, "Other");
  }
  wide.add("last", sides);
  wide.fetch("last");
  const auto result = tf::segment_graph(wide.graph, every_segment());
  ASSERT_EQ(result.segments.size(), 2u);
  EXPECT_EQ(result.segments[1].nodes.size(), size / 2u + 1);
}

/// Candidates that all feed the last node, each with a native node that leads to it along a long chain.
TEST(SegmenterLarge, LongWaysAroundAreFoundOnce) {
  constexpr int size = 30000;
  SegmenterGraphText text;
  text.native("in", {});
  std::vector<std::string> heads;
  std::string last = "in";
  for (int i = 0; i < size; ++i) {
    heads.push_back(fmt::format("head{}", i));
    text.add(heads.back(), {"in"});
    const std::string native = fmt::format("native{}", i);
    text.native(native, {last, heads.back()}, "Other");
    last = native;
  }
  heads.push_back(last);
  text.add("last", heads);
  text.fetch("last");
  const auto result = tf::segment_graph(text.graph, every_segment());
  EXPECT_EQ(result.segments.size(), size + 1u);
}

TEST(SegmenterLarge, MemoryTimeAndNodesAreLimited) {
  const auto text = long_chain(20000, 2);
  Limits limits;
  limits.total_bytes = 1 << 20;
  const auto account = std::make_shared<Account>(limits);
  {
    const AccountScope scope(account);
    LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::limit_exceeded, "total_bytes");
  }
  EXPECT_EQ(account->held(), 0u);
  limits = {};
  limits.nodes = 100;
  const auto few = std::make_shared<Account>(limits);
  {
    const AccountScope scope(few);
    LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::limit_exceeded, "20001 nodes");
  }
  limits.seconds = 1e-9;
  const DeadlineScope deadline(limits);
  LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::limit_exceeded, "seconds");
}

} // namespace
} // namespace lanner::test
