// The order of nodes that touch state.

#include <gtest/gtest.h>

#include "base/limits/account.h"
#include "importers/graph_def_file.h"
#include "importers/importing.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;

TEST(StatefulNodes, ControlEdgesBetweenAllPairsCountAsMemory) {
  constexpr int count = 3000;
  std::vector<Message> nodes{node({"v", "VarHandleOp", {}, {type("dtype", f32)}})};
  std::vector<std::string> all, values;
  const auto read = [&](const std::string& name, std::vector<std::string> inputs) {
    nodes.push_back(node({name, "ReadVariableOp", std::move(inputs), {type("dtype", f32)}}));
    values.push_back(name);
  };
  for (int i = 0; i < count; ++i) {
    read("first" + std::to_string(i), {"v"});
    all.push_back("^" + values.back());
  }
  nodes.push_back(node({"all", "NoOp", all, {}}));
  for (int i = 0; i < count; ++i) read("then" + std::to_string(i), {"v", "^all"});
  nodes.push_back(node({"y", "AddN", values, {type("T", f32), integer("N", 2 * count)}}));
  Limits limits;
  limits.total_bytes = 64u << 20;
  const auto account = std::make_shared<Account>(limits);
  const AccountScope charged(account);
  const std::string got = outcome(graph_def(nodes), {}, limits);
  EXPECT_NE(got.find("over the limit total_bytes of 67108864"), std::string::npos) << got.substr(0, 500);
}

} // namespace
} // namespace lanner::test
