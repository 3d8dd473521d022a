// Runs the cases of tests/lowering/*.ir: what becomes of a graph over backends whose kernels and costs a
// table gives. A case is
//
//   // case TITLE
//   // target cuda:0 f32 f16     (where it is not the CPU that computes in f32)
//   // backend NAME on cuda:0    (any number, in the order in which they are asked; see table_backend.h)
//   //   conv: acdb, row -> acdb = 3
//   // like                      (what was lowered for other shapes, whose choices are taken over)
//   graph ...
//   // before
//   graph ...
//   // after
//   graph ...
//   // report                    (where wanted: what `explain` is told of each node)
//   ...
//
// and holds when the step that the file is named after up to the first `_` (fuse, widen, lower) gives exactly
// the text after, and both graphs compute the same: by their operators' definitions, and, for what is lowered
// for the CPU, as an Engine runs them.

#include <array>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/fusion.h"
#include "engine/lower.h"
#include "engine/state.h"
#include "engine/widen.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "ir_cases.h"
#include "lowering/expanding_ops.h"
#include "lowering/table_backend.h"
#include "ops/interpreter.h"

namespace lanner {
namespace {

using test::IrCase;
using test::TableBackend;

constexpr std::array<std::string_view, 6> section_names{"target", "backend", "like",
                                                        "before", "after",   "report"};

std::vector<IrCase> all_cases() {
  return test::ir_cases("tests/lowering", section_names);
}

Target target_of(const IrCase& given) {
  Target target;
  const test::IrSection* section = given.find("target");
  if (!section) return target;
  const std::string& words = section->words;
  const std::size_t device = words.find(' ');
  target.device = Device::parse(words.substr(0, device));
  for (std::size_t at = device; at != std::string::npos;) {
    const std::size_t next = words.find(' ', at + 1);
    target.precisions.push_back(parse_dtype(words.substr(at + 1, next - at - 1)));
    at = next;
  }
  return target;
}

std::unique_ptr<Graph> graph_of(const std::string& text) {
  auto graph = parse_graph(text, test::expanding_op_table());
  infer_types(*graph);
  return graph;
}

/// One line a node, its alternatives from the cheapest on, costs in milliseconds, the one chosen in brackets.
std::string report_text(const std::vector<NodeReport>& reports) {
  std::string text;
  for (const NodeReport& report : reports) {
    text += "//   %" + report.node + ":";
    for (const Considered& one : report.considered) {
      const std::string words =
          fmt::format("{}:{} {} {:g}", one.backend, one.kernel, one.storage, one.seconds * 1000);
      text += (one.chosen ? " [" + words + "]" : " " + words) + ";";
    }
    for (const std::string& note : report.notes) text += " (" + note + ")";
    text += "\n";
  }
  return text;
}

/// A case that is being run.
class LoweringCase : public testing::TestWithParam<IrCase> {
protected:
  void SetUp() override {
    for (const test::IrSection* section : GetParam().all("backend")) {
      owned_.push_back(std::make_unique<TableBackend>(section->words, section->text));
      backends_.push_back(owned_.back().get());
    }
    before_ = graph_of(GetParam().text("before"));
    inputs_ = test::random_inputs(*before_);
    expected_ = run_reference(*before_, inputs_);
  }

  std::string step() const { return GetParam().file.substr(0, GetParam().file.find('_')); }

  std::unique_ptr<Graph> run_step() {
    auto graph = before_->clone();
    if (step() == "fuse") {
      fuse(*graph, backends_, target_);
    } else if (step() == "widen") {
      widen_halves(*graph, target_);
    } else {
      check(step() == "lower", ErrorCode::bad_data, "no step of lowering is called {}", step());
      return lower_graph(std::move(graph));
    }
    return graph;
  }

  std::unique_ptr<Graph> lower_graph(std::unique_ptr<Graph> graph) {
    TimingCache cache;
    const Control control;
    Tuner tuner(target_, 0, cache, constants_, control);
    const test::IrSection* like = GetParam().find("like");
    const std::unique_ptr<Graph> model = like ? graph_of(like->text) : nullptr;
    Lowered lowered = lower(std::move(graph), {backends_, target_, tuner, constants_, control, model.get()});
    reports_ = std::move(lowered.reports);
    return std::move(lowered.graph);
  }

  /// Whether the result is what an Engine runs, and can be run without a GPU.
  bool runs_here() const { return step() == "lower" && target_.device.is_host(); }

  std::vector<Item> run_engine(std::unique_ptr<Graph> lowered) {
    const auto state = std::make_shared<Engine::State>();
    state->graph = before_->clone();
    state->inputs = input_bindings(*before_);
    state->outputs = output_bindings(*before_);
    state->target = target_;
    InputShapes shapes;
    for (const Item& input : inputs_) shapes.push_back(input.tensor.shape());
    auto program =
        std::make_shared<const Program>(std::move(lowered), backends_, target_, state->constants());
    state->adopt(shapes, target_.threads, {std::move(program), {}, target_.threads});
    Context context = Engine(state).create_context();
    for (std::size_t i = 0; i < inputs_.size(); ++i) context.bind(state->inputs[i].name, inputs_[i]);
    context.run();
    context.run(); // on an arena that the first run has written
    std::vector<Item> outputs;
    for (const Binding& output : state->outputs) outputs.push_back(context.output(output.name));
    return outputs;
  }

  void expect_same(const std::vector<Item>& found) const {
    ASSERT_EQ(expected_.size(), found.size());
    const bool halves = GetParam().text("before").find("f16[") != std::string::npos ||
                        GetParam().text("after").find("bf16") != std::string::npos;
    for (std::size_t i = 0; i < expected_.size(); ++i)
      test::expect_equal(expected_[i], found[i], halves ? 2e-2 : 2e-5);
  }

  Target target_ = target_of(GetParam());
  std::vector<std::unique_ptr<TableBackend>> owned_;
  std::vector<const Backend*> backends_;
  PackedConstants constants_;
  std::unique_ptr<Graph> before_;
  std::vector<Item> inputs_, expected_;
  std::vector<NodeReport> reports_;
};

TEST_P(LoweringCase, GivesTheTextAfterAndTheSameNumbers) {
  std::unique_ptr<Graph> after = run_step();
  verify(*after);
  EXPECT_EQ(print(*after), GetParam().text("after"));
  const test::IrSection* report = GetParam().find("report");
  if (report) {
    EXPECT_EQ(report_text(reports_), report->text);
  }
  const std::string typed = print(*after);
  infer_types(*after);
  EXPECT_EQ(print(*after), typed) << "types are left that inference makes others";
  expect_same(runs_here() ? run_engine(std::move(after)) : run_reference(*after, inputs_));
}

INSTANTIATE_TEST_SUITE_P(Lowering, LoweringCase, testing::ValuesIn(all_cases()), test::ir_case_name);

} // namespace
} // namespace lanner
