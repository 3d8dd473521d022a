#include "importers/node_order.h"

#include <algorithm>
#include <map>
#include <set>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"

namespace lanner {
namespace {

/// Names that a node reads but does not define inside. A name that a subgraph reads before it writes it may
/// be its own, in a file whose nodes are out of order, or an outer value of the same name.
struct Reads {
  std::set<std::string, std::less<>> outer, either;
};

void collect_reads(const ImportGraph& graph, Reads& reads);

void collect_reads(const ImportNode& node, Reads& reads) {
  reads.outer.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& [name, attribute] : node.attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value))
      collect_reads(**inner, reads);
}

void collect_reads(const ImportGraph& graph, Reads& reads) {
  std::set<std::string_view> defined, written;
  for (const ImportValue& input : graph.inputs) defined.insert(input.name);
  for (const auto& [name, tensor] : graph.constants) defined.insert(name);
  for (const ImportNode& node : graph.nodes) written.insert(node.outputs.begin(), node.outputs.end());
  const auto note = [&](const std::string& name, bool certain) {
    if (defined.contains(name)) return;
    (certain && !written.contains(name) ? reads.outer : reads.either).insert(name);
  };
  for (const ImportNode& node : graph.nodes) {
    check_deadline();
    Reads inner;
    collect_reads(node, inner);
    for (const std::string& name : inner.outer) note(name, true);
    for (const std::string& name : inner.either) note(name, false);
    defined.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const ImportValue& output : graph.outputs) note(output.name, true);
}

/// The dependency graph of the nodes.
class Order {
public:
  Order(const std::vector<ImportNode>& nodes, const std::function<bool(std::string_view)>& visible)
      : nodes_(nodes), visible_(visible), followers_(nodes.size()), waiting_(nodes.size(), 0) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::string& output : nodes[i].outputs)
        if (!output.empty())
          check(writers_.emplace(output, i).second, ErrorCode::bad_data,
                "node {}: value '{}' is written twice", label_of(nodes[i]), one_line(output, longest_name));
    for (std::size_t i = 0; i < nodes.size(); ++i) add_reads(i);
  }

  std::vector<const ImportNode*> sorted() {
    std::set<std::size_t> ready;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (waiting_[i] == 0) ready.insert(i);
    std::vector<const ImportNode*> order;
    while (!ready.empty()) {
      check_deadline();
      const std::size_t i = *ready.begin();
      ready.erase(ready.begin());
      order.push_back(&nodes_[i]);
      for (const std::size_t follower : followers_[i])
        if (--waiting_[follower] == 0) ready.insert(follower);
    }
    if (order.size() == nodes_.size()) return order;
    const auto stuck = std::ranges::find_if(waiting_, [](std::size_t count) { return count > 0; });
    fail(ErrorCode::bad_data, "node {} depends on its own output: the graph has a cycle",
         label_of(nodes_[static_cast<std::size_t>(stuck - waiting_.begin())]));
  }

private:
  void add_reads(std::size_t reader) {
    check_deadline();
    Reads reads;
    collect_reads(nodes_[reader], reads);
    for (const std::string& name : reads.outer) add_read(reader, name, true);
    for (const std::string& name : reads.either) add_read(reader, name, false);
  }

  void add_read(std::size_t reader, const std::string& name, bool certain) {
    const auto found = writers_.find(name);
    if (found == writers_.end()) return;
    const std::size_t writer = found->second;
    if (writer < reader) return follow(writer, reader);
    if (visible_(name)) {
      if (writer != reader) follow(reader, writer);
    } else if (certain) {
      follow(writer, reader);
    }
  }

  void follow(std::size_t first, std::size_t then) {
    followers_[first].push_back(then);
    ++waiting_[then];
  }

  const std::vector<ImportNode>& nodes_;
  const std::function<bool(std::string_view)>& visible_;
  std::map<std::string_view, std::size_t> writers_;
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> waiting_;
};

} // namespace

std::string label_of(const ImportNode& node) {
  const std::string& name = !node.name.empty() ? node.name : node.outputs.empty() ? node.op : node.outputs[0];
  return one_line(name, longest_name);
}

std::vector<const ImportNode*> in_dependence_order(const std::vector<ImportNode>& nodes,
                                                   const std::function<bool(std::string_view)>& visible) {
  return Order(nodes, visible).sorted();
}

} // namespace lanner
