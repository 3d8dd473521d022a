#include "tf/convert/flat_index.h"

#include <algorithm>

namespace lanner::tf {
namespace {

/// Operators whose result may differ from run to run, or that a run is meant to do.
bool differs_by_run(const ImportNode& node) {
  return node.op.find("Random") != std::string::npos || node.op == "Multinomial" || node.op == "Assert" ||
         node.op == "Print" || node.op == "PrintV2" || node.op == "NoOp" || node.op == "Timestamp";
}

} // namespace

FlatIndex::FlatIndex(std::span<const ImportNode> nodes,
                     const std::map<std::string, std::string, std::less<>>& unconverted)
    : nodes_(nodes), constant_(nodes.size()) {
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    for (const std::string& input : nodes[n].inputs) readers_[input].push_back(n);
    for (std::uint32_t i = 0; i < nodes[n].outputs.size(); ++i)
      if (!nodes[n].outputs[i].empty()) makers_.emplace(nodes[n].outputs[i], NodeOutput{n, i});
  }
  for (std::uint32_t n = 0; n < nodes.size(); ++n)
    constant_[n] = !unconverted.contains(nodes[n].name) &&
                   (nodes[n].op == "Const" ||
                    (!nodes[n].inputs.empty() && nodes[n].controls.empty() && !differs_by_run(nodes[n]) &&
                     std::ranges::all_of(nodes[n].inputs, [&](const auto& v) { return is_constant(v); })));
}

const NodeOutput* FlatIndex::maker(std::string_view value) const {
  const auto found = makers_.find(value);
  return found == makers_.end() ? nullptr : &found->second;
}

std::span<const std::uint32_t> FlatIndex::readers(std::string_view value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() ? std::span<const std::uint32_t>() : found->second;
}

bool FlatIndex::is_constant(std::string_view value) const {
  const NodeOutput* made = maker(value);
  return made && constant_[made->node];
}

void FlatIndex::add_constants(std::set<std::uint32_t>& nodes) const {
  std::vector<std::uint32_t> waiting(nodes.begin(), nodes.end());
  while (!waiting.empty()) {
    const std::uint32_t n = waiting.back();
    waiting.pop_back();
    for (const std::string& input : nodes_[n].inputs)
      if (const NodeOutput* made = maker(input);
          made && constant_[made->node] && nodes.insert(made->node).second)
        waiting.push_back(made->node);
  }
}

} // namespace lanner::tf
