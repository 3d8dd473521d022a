#pragma once
#include <functional>
#include <string>
#include <lanner/cancel.h>
#include <lanner/limits.h>
#include "graph/graph.h"
namespace lanner {
struct PassOptions {
  std::string stop_after;
  Limits limits;
  Control control;
  std::function<void(std::string_view, const Graph&)> trace;
};
void run_passes(Graph& graph, const PassOptions& options = {});
}
