#include "passes/pipeline.h"

#include <algorithm>

#include "base/check.h"
#include "base/file/file.h"
#include "base/limits/limit_error.h"
#include "base/text/nearest.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "passes/passes.h"

namespace lanner {

namespace {

constexpr Pass list[] = {
#define LANNER_PASS(name) {#name, passes::name},
#include "passes/list.inc"
#undef LANNER_PASS
};

constexpr Pass of_gpus[] = {{"merge_products", passes::merge_products},
                            {"decompose_reductions", passes::decompose_reductions},
                            {"drop_dead_nodes", passes::drop_dead_nodes},
                            {"separate_dequantize", passes::separate_dequantize}};

constexpr Pass of_cpus[] = {{"separate_dequantize", passes::separate_dequantize}};

// One pass may enable another; real models reach a fixed point in two or three rounds.
constexpr int max_rounds = 6;

class PassRun {
public:
  PassRun(Graph& graph, const PassOptions& options) : graph_(graph), options_(options) {}

  /// Returns whether to continue.
  bool run(const Pass& pass, int round) {
    options_.control.report({"simplify", static_cast<double>(round), 0, "rounds"});
    options_.control.cancel.check();
    const bool changed =
        with_context([&] { return fmt::format("pass {}", pass.name); }, [&] { return pass.run(graph_); });
    changed_ = changed_ || changed;
    if (changed)
      with_context([&] { return fmt::format("after pass {}", pass.name); }, [&] { check_and_show(pass); });
    return pass.name != options_.stop_after;
  }
  bool take_changed() { return std::exchange(changed_, false); }

private:
  void check_and_show(const Pass& pass) {
    if (options_.verify) verify(graph_);
    const std::size_t nodes = graph_.node_count();
    check_limit("nodes", nodes, options_.limits.nodes, "the graph has {} nodes", nodes);
    if (options_.trace) options_.trace(pass.name, graph_);
    if (options_.trace_folder.empty()) return;
    const std::string text = print(graph_);
    write_file(options_.trace_folder / fmt::format("{:02}_{}.ir", ++written_, pass.name),
               std::as_bytes(std::span(text)));
  }

  Graph& graph_;
  const PassOptions& options_;
  int written_ = 0;
  bool changed_ = false;
};

void require_known(const std::string& name) {
  std::vector<std::string> names;
  for (const Pass& pass : list) names.emplace_back(pass.name);
  const bool known = name.empty() || std::find(names.begin(), names.end(), name) != names.end();
  check(known, ErrorCode::invalid_argument, "there is no pass {}{}", name,
        known ? "" : did_you_mean(name, names));
}

} // namespace

std::span<const Pass> canonical_passes() {
  return list;
}

std::span<const Pass> target_passes(DeviceKind device) {
  return device == DeviceKind::cuda ? std::span<const Pass>(of_gpus) : std::span<const Pass>(of_cpus);
}

void run_passes(Graph& graph, const PassOptions& options) {
  require_known(options.stop_after);
  PassRun run(graph, options);
  for (int round = 0; round < max_rounds; ++round) {
    // Constants folded in a round may make types more precise in the next.
    infer_types(graph);
    for (const Pass& pass : list) {
      if (!run.run(pass, round)) return;
    }
    if (!run.take_changed()) return;
  }
}

} // namespace lanner
