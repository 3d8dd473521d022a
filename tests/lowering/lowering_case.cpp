#include "lowering/lowering_case.h"

#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "engine/caller_options.h"
#include "engine/state.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "lower/emit/schedule.h"
#include "lower/propose/groups.h"
#include "lowering/expanding_ops.h"
#include "ops/interpreter/interpreter.h"

namespace lanner::test {
namespace {

/// `f16`, `strict`, `exact`, or `conv*=f32` for a pin.
void add_precision(Precision& precision, const std::string& word) {
  if (word == "strict") {
    precision.strict = true;
  } else if (const std::size_t at = word.find('='); at != std::string::npos) {
    precision.pins.push_back({word.substr(0, at), parse_dtype(word.substr(at + 1))});
  } else {
    if (precision.strict) precision.types.erase(DType::f32);
    precision.types.insert(parse_dtype(word));
  }
}

/// `%c* cuda:1`.
PlacedNodes placed_nodes(const std::string& words) {
  const std::size_t space = words.find(' ');
  return {words.substr(1, space - 1), Device::parse(words.substr(space + 1))};
}

Target target_of(const IrCase& given) {
  Target target;
  const IrSection* section = given.find("target");
  if (!section) return target;
  const std::string& words = section->words;
  const std::size_t device = words.find(' ');
  const std::vector<Device> devices = parse_devices(words.substr(0, device));
  target.device = devices.front();
  target.placement.devices.assign(devices.begin() + 1, devices.end());
  target.further.resize(target.placement.devices.size());
  for (const IrSection* placed : given.all("place"))
    target.placement.nodes.push_back(placed_nodes(placed->words));
  for (std::size_t at = device; at != std::string::npos;) {
    const std::size_t next = words.find(' ', at + 1);
    add_precision(target.precision, words.substr(at + 1, next - at - 1));
    at = next;
  }
  return target;
}

std::unique_ptr<Graph> graph_of(const std::string& text) {
  auto graph = parse_graph(text, expanding_op_table());
  infer_types(*graph);
  return graph;
}

/// One line per node: alternatives by cost in milliseconds, with their trust, the chosen one in brackets.
std::string report_text(const std::vector<NodeReport>& reports) {
  std::string text;
  for (const NodeReport& report : reports) {
    text += "//   %" + report.node + ":";
    for (const Considered& one : report.considered) {
      const std::string words =
          fmt::format("{}:{} {} {:g}{}", one.backend, one.kernel, one.storage, one.seconds * 1000,
                      one.trust == Trust::none ? "" : fmt::format(" {}", to_string(one.trust)));
      text += (one.chosen ? " [" + words + "]" : " " + words) + ";";
    }
    for (const std::string& note : report.notes) text += " (" + note + ")";
    text += "\n";
  }
  return text;
}

} // namespace

std::vector<IrCase> lowering_cases(DeviceKind kind) {
  constexpr std::array<std::string_view, 10> sections{"target", "backend", "streams", "like",  "held",
                                                      "place",  "alias",   "before",  "after", "report"};
  std::vector<IrCase> cases = ir_cases("tests/lowering/cases", sections);
  std::erase_if(cases, [&](const IrCase& one) { return target_of(one).device.kind != kind; });
  return cases;
}

void LoweringCase::SetUp() {
  const IrCase& given = GetParam();
  target_ = target_of(given);
  for (const IrSection* section : given.all("backend")) {
    owned_.push_back(std::make_unique<TableBackend>(section->words, section->text, queue()));
    backends_.push_back(owned_.back().get());
  }
  before_ = graph_of(given.text("before"));
  set_callers();
  inputs_ = random_inputs(*before_);
  expected_ = run_reference(*before_, inputs_);
}

void LoweringCase::set_callers() {
  state_ = std::make_shared<EngineState>();
  state_->graph = before_->clone();
  state_->inputs = input_bindings(*before_);
  state_->outputs = output_bindings(*before_);
  state_->target = target_;
  const auto halves = [](const IrSection& section) {
    const std::size_t space = section.words.find(' ');
    return std::pair(section.words.substr(0, space), section.words.substr(space + 1));
  };
  CallerOptions options;
  for (const IrSection* section : GetParam().all("held")) {
    const auto [name, storage] = halves(*section);
    options.storages[name] = BindingStorage::parse(storage);
  }
  for (const IrSection* section : GetParam().all("alias")) {
    auto [output, input] = halves(*section);
    options.aliases.push_back({std::move(output), std::move(input)});
  }
  lanner::set_callers(*state_, options);
}

std::string LoweringCase::step() const {
  return GetParam().file.substr(0, GetParam().file.find('_'));
}

std::unique_ptr<Graph> LoweringCase::run_step() {
  auto graph = before_->clone();
  if (step() == "fuse") {
    for (const ProposedGroup& group : proposed_groups(*graph, backends_, target_))
      if (group.in_first_cover)
        replace(group.nodes, *alone(group.nodes)->body().nodes().back(), inputs_of(group.nodes));
  } else {
    check(step() == "lower", ErrorCode::bad_data, "no step of lowering is called {}", step());
    return lower_graph(std::move(graph));
  }
  return graph;
}

std::unique_ptr<Graph> LoweringCase::lower_graph(std::unique_ptr<Graph> graph) {
  TimingCache cache;
  const Control control;
  Tuner tuner(target_, 0, cache, constants_, control);
  const IrSection* like = GetParam().find("like");
  const std::unique_ptr<Graph> model = like ? graph_of(like->text) : nullptr;
  Lowered lowered = lower(std::move(graph), {.backends = backends_,
                                             .target = target_,
                                             .tuner = tuner,
                                             .constants = constants_,
                                             .control = control,
                                             .tactic_source = model.get(),
                                             .callers = state_->callers});
  reports_ = std::move(lowered.reports);
  if (const IrSection* streams = GetParam().find("streams"))
    if (const auto plan = spread(*lowered.graph, target_, std::stoi(streams->words)))
      set_streams(*lowered.graph, *plan);
  return std::move(lowered.graph);
}

std::vector<Item> LoweringCase::run_engine(std::unique_ptr<Graph> lowered) {
  const std::shared_ptr<EngineState> state = state_;
  settle_storages(*state, *lowered);
  InputShapes shapes;
  for (const Item& input : inputs_) shapes.push_back(input.tensor.shape());
  auto program = std::make_shared<const Program>(std::move(lowered), backends_, target_, state->constants(),
                                                 state->callers);
  state->adopt(shapes, target_.threads, {std::move(program), {}, target_.threads});
  Context context = engine_of(state).create_context();
  // Memory is clean in the first run only; on a GPU the second run is recorded and the third replays it.
  std::vector<Tensor> given;
  for (const Item& input : inputs_) {
    given.push_back(input.tensor.clone());
    context.bind(state->inputs[given.size() - 1].name, given.back());
  }
  for (int run = 0; run < 3; ++run) {
    for (std::size_t i = 0; i < given.size(); ++i) copy_tensor(inputs_[i].tensor, given[i]);
    context.run();
  }
  std::vector<Item> outputs;
  for (const Binding& output : state->outputs) outputs.push_back(context.output(output.name));
  return outputs;
}

void LoweringCase::expect_same(const std::vector<Item>& found) const {
  ASSERT_EQ(expected_.size(), found.size());
  const auto mentions = [&](std::string_view section, std::string_view word) {
    return GetParam().text(section).find(word) != std::string::npos;
  };
  const bool halves = mentions("before", "f16[") || mentions("after", "f16 ");
  for (std::size_t i = 0; i < expected_.size(); ++i)
    expect_equal(expected_[i], found[i], halves ? 2e-2 : 2e-5);
}

void LoweringCase::expect_after() {
  std::unique_ptr<Graph> after = run_step();
  verify(*after);
  EXPECT_EQ(print(*after), GetParam().text("after"));
  if (const IrSection* report = GetParam().find("report")) {
    EXPECT_EQ(report_text(reports_), report->text);
  }
  const std::string typed = print(*after);
  infer_types(*after);
  EXPECT_EQ(print(*after), typed) << "inference would change types";
  expect_same(step() == "lower" ? run_engine(std::move(after)) : run_reference(*after, inputs_));
}

} // namespace lanner::test
