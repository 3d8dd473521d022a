#include "tf/segment/native_report.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/limits/paced_deadline.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"

namespace lanner::tf {
namespace {

constexpr std::size_t longest_name = 200, longest_reason = 1000;

/// A field of a line of the table.
std::string field(const std::string& text, std::size_t longest) {
  std::string line = one_line(text, longest);
  std::ranges::replace(line, '|', '/');
  return line;
}

} // namespace

std::vector<NativeGroup> native_groups(const SegmenterGraph& graph, const Segmentation& segmentation) {
  std::map<std::pair<std::string_view, std::string_view>, NativeGroup> found;
  std::map<std::string, std::size_t, std::less<>> counts;
  PacedDeadline deadline;
  for (const NativeNode& native : segmentation.native) {
    deadline();
    const std::string& op = graph.nodes[native.node].op;
    NativeGroup& group = found[{op, native.reason.code}];
    if (group.nodes.empty()) group = {op, native.reason, {}};
    group.nodes.push_back(native.node);
    ++counts[op];
  }
  std::vector<NativeGroup> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  std::ranges::stable_sort(groups, [&](const NativeGroup& a, const NativeGroup& b) {
    const std::size_t of_a = counts[a.op], of_b = counts[b.op];
    if (of_a != of_b) return of_a > of_b;
    return a.op != b.op ? a.op < b.op : a.nodes.size() > b.nodes.size();
  });
  return groups;
}

std::string native_line(const std::vector<NativeGroup>& groups) {
  std::set<std::string> ops;
  std::size_t count = 0;
  for (const NativeGroup& group : groups) {
    ops.insert(one_line(group.op, longest_name));
    count += group.nodes.size();
  }
  return fmt::format(
      "There are {} ops of {} different types in the graph that are not converted to TensorRT: {}.", count,
      ops.size(), joined(ops, ", "));
}

std::string native_csv(const std::vector<NativeGroup>& groups) {
  std::string csv = "OP Name|Reason|Count\n";
  for (const NativeGroup& group : groups)
    csv += fmt::format("{}|{}|{}\n", field(group.op, longest_name), field(group.reason.text, longest_reason),
                       group.nodes.size());
  return csv;
}

} // namespace lanner::tf
