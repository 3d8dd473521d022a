#pragma once
// The cases of tests/lowering/*.ir: lowering of a graph with backends whose kernels and costs are in a table.
// A case is
//
//   // case TITLE
//   // target cuda:0 f32 f16     (default: the CPU in f32; `cuda:0,cuda:1` for several)
//   // backend NAME on cuda:0    (any number, in the order in which they are asked; see table_backend.h)
//   //   conv: acdb, row -> acdb = 3
//   // held x acdb               (any number: storage of an input or output, see BindingStorage)
//   // place %conv* cuda:1       (any number: placement of nodes, by their values' names)
//   // alias y x                 (any number: an output in the memory of an input)
//   // streams 2                 (optional: use at most this many streams)
//   // like                      (optional: a graph of other shapes whose tactics are reused)
//   graph ...
//   // before
//   graph ...
//   // after
//   graph ...
//   // report                    (optional: the report of each node for `explain`)
//   ...
//
// and passes when the step in the file's name before the first `_` (fuse, lower) gives exactly the text
// after, and both graphs compute the same: by their operators' definitions, or, if lowered, as an Engine runs
// it.

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "engine/state.h"
#include "graph/target.h"
#include "ir_cases.h"
#include "lower/lower.h"
#include "lowering/table_backend.h"

namespace lanner::test {

/// The cases whose target is of this kind.
std::vector<IrCase> lowering_cases(DeviceKind kind);

class LoweringCase : public testing::TestWithParam<IrCase> {
protected:
  void SetUp() override;
  /// How GPU kernels queue their work.
  virtual Queue queue() const { return {}; }
  /// Runs the case.
  void expect_after();

private:
  std::string step() const;
  std::unique_ptr<Graph> run_step();
  void set_callers();
  std::unique_ptr<Graph> lower_graph(std::unique_ptr<Graph> graph);
  std::vector<Item> run_engine(std::unique_ptr<Graph> lowered);
  void expect_same(const std::vector<Item>& found) const;

  Target target_;
  std::shared_ptr<EngineState> state_;
  std::vector<std::unique_ptr<TableBackend>> owned_;
  std::vector<const Backend*> backends_;
  WeightStore constants_;
  std::unique_ptr<Graph> before_;
  std::vector<Item> inputs_, expected_;
  std::vector<NodeReport> reports_;
};

} // namespace lanner::test
