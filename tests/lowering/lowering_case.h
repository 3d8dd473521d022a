#pragma once
// The cases of tests/lowering/*.ir: what becomes of a graph over backends whose kernels and costs a table
// gives. A case is
//
//   // case TITLE
//   // target cuda:0 f32 f16     (where it is not the CPU that computes in f32; `cuda:0,cuda:1` for several)
//   // backend NAME on cuda:0    (any number, in the order in which they are asked; see table_backend.h)
//   //   conv: acdb, row -> acdb = 3
// held x acdb               (any number: how callers hold an input or output, see BindingStorage)
// place %conv* cuda:1      (any number: where nodes run, by their values' names)
// alias y x                 (any number: an output that lies in the memory of an input)
//   // streams 2                 (where wanted: spread over at most so many)
//   // like                      (what was lowered for other shapes, whose choices are taken over)
//   graph ...
//   // before
//   graph ...
//   // after
//   graph ...
//   // report                    (where wanted: what `explain` is told of each node)
//   ...
//
// and holds when the step that the file is named after up to the first `_` (fuse, lower) gives exactly
// the text after, and both graphs compute the same: by their operators' definitions, or, what was lowered, as
// an Engine runs it.

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
  /// How kernels of a GPU queue their work.
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
