#include "passes/pipeline.h"
#include <vector>
namespace lanner {
void run_passes(Graph& graph, const PassOptions&) {
  std::vector<Node*> nodes;
  for (const auto& n : graph.body().nodes()) nodes.push_back(n.get());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    bool unused = true;
    for (const auto& o : (*it)->outputs()) unused = unused && o->unused();
    if (unused) graph.body().erase(*it);
  }
}
}
