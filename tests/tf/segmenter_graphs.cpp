#include "tf/segmenter_graphs.h"

#include <algorithm>
#include <numeric>

namespace lanner::test {
namespace {

tf::NodeOutput output_of(const std::map<std::string, std::uint32_t>& index, const std::string& tensor) {
  const std::size_t colon = tensor.find(':');
  const auto number = colon == std::string::npos ? 0 : std::stoul(tensor.substr(colon + 1));
  return {index.at(tensor.substr(0, colon)), static_cast<std::uint32_t>(number)};
}

} // namespace

tf::SegmenterNode& SegmenterGraphText::add(const std::string& name, const std::vector<std::string>& inputs,
                                           const std::string& op) {
  tf::SegmenterNode node;
  node.name = name;
  node.op = op;
  for (const std::string& input : inputs)
    if (input.starts_with("^"))
      node.control_inputs.push_back(index.at(input.substr(1)));
    else
      node.inputs.push_back(output_of(index, input));
  index[name] = static_cast<std::uint32_t>(graph.nodes.size());
  return graph.nodes.emplace_back(std::move(node));
}

tf::SegmenterNode& SegmenterGraphText::native(const std::string& name, const std::vector<std::string>& inputs,
                                              const std::string& op) {
  tf::SegmenterNode& node = add(name, inputs, op);
  node.reason = tf::NativeReason{"no_rule", "operator " + op + " has no rule"};
  return node;
}

void SegmenterGraphText::fetch(const std::string& tensor) {
  graph.fetched.push_back(output_of(index, tensor));
}

void SegmenterGraphText::fetch_unread() {
  std::set<std::uint32_t> read;
  for (const tf::SegmenterNode& node : graph.nodes)
    for (const tf::NodeOutput& input : node.inputs) read.insert(input.node);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (!read.contains(i)) graph.fetched.push_back({i, 0});
}

NamedSegments names_of(const tf::SegmenterGraph& graph, const tf::Segmentation& segmentation) {
  NamedSegments all;
  for (const tf::Segment& segment : segmentation.segments) {
    std::set<std::string>& names = all.emplace_back();
    for (const std::uint32_t node : segment.nodes) names.insert(graph.nodes[node].name);
  }
  return all;
}

tf::SegmenterGraph shuffled(const tf::SegmenterGraph& graph, std::mt19937& random) {
  std::vector<std::uint32_t> order(graph.nodes.size()), place(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::shuffle(order, random);
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  tf::SegmenterGraph result;
  for (const std::uint32_t from : order) {
    tf::SegmenterNode node = graph.nodes[from];
    for (tf::NodeOutput& input : node.inputs) input.node = place[input.node];
    for (std::uint32_t& input : node.control_inputs) input = place[input];
    std::ranges::shuffle(node.control_inputs, random);
    result.nodes.push_back(std::move(node));
  }
  for (tf::NodeOutput fetched : graph.fetched)
    result.fetched.push_back({place[fetched.node], fetched.output});
  std::ranges::shuffle(result.fetched, random);
  return result;
}

bool has_cycle(const tf::SegmenterGraph& graph, const std::vector<int>& segment) {
  const std::size_t count = graph.nodes.size();
  const auto group = [&](std::size_t node) {
    return segment[node] < 0 ? node : count + static_cast<std::size_t>(segment[node]);
  };
  std::vector<std::set<std::size_t>> before(2 * count), after(2 * count);
  const auto join = [&](std::size_t from, std::size_t to) {
    if (group(from) == group(to)) return;
    before[group(to)].insert(group(from));
    after[group(from)].insert(group(to));
  };
  for (std::size_t to = 0; to < count; ++to) {
    for (const tf::NodeOutput& input : graph.nodes[to].inputs) join(input.node, to);
    for (const std::uint32_t input : graph.nodes[to].control_inputs) join(input, to);
  }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].empty()) ready.push_back(i);
  for (std::size_t next = 0; next < ready.size(); ++next)
    for (const std::size_t follower : after[ready[next]])
      if (before[follower].erase(ready[next]) && before[follower].empty()) ready.push_back(follower);
  return ready.size() != before.size();
}

std::vector<int> numbered(const tf::SegmenterGraph& graph, const tf::Segmentation& segmentation) {
  std::vector<int> result(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < segmentation.segments.size(); ++i)
    for (const std::uint32_t node : segmentation.segments[i].nodes) result[node] = static_cast<int>(i);
  return result;
}

} // namespace lanner::test
