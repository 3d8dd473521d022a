// lstm, gru and rnn against their definitions: the tactics offered, and the loops of each instruction set.

#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/recurrent/sequence.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"
#include "program/lowered/work.h"

namespace lanner {
namespace {

struct Net {
  std::string op = "lstm";
  int steps = 5, batch = 2, inputs = 3, hidden = 7;
  std::string direction = "forward", options = "";
  bool batch_first = false, bias = true, states = true, lengths = false, peepholes = false;
  bool values = false; ///< Weights are inputs, not constants.
  int outputs = 3;

  int gates() const { return op == "lstm" ? 4 : op == "gru" ? 3 : 1; }
  int directions() const { return direction == "bidirectional" ? 2 : 1; }
  int max_outputs() const { return op == "lstm" ? 3 : 2; }
};
void PrintTo(const Net& n, std::ostream* out) {
  *out << fmt::format("{} {} of {} steps, batch {}, {} to {} {{{}}}{}{}{}{}{}{}", n.direction, n.op, n.steps,
                      n.batch, n.inputs, n.hidden, n.options, n.batch_first ? " batch first" : "",
                      n.bias ? "" : ", no bias", n.states ? "" : ", no states", n.lengths ? ", lengths" : "",
                      n.peepholes ? ", peepholes" : "", n.values ? ", weights of the run" : "");
}

/// Different lengths, the first one full: with few rows the last may be 0, with many all are at least half.
std::string lengths_of(const Net& n) {
  const int range = n.batch > 8 ? n.steps / 2 : n.steps + 1;
  std::string text;
  for (int b = 0; b < n.batch; ++b) text += fmt::format("{}{}", b ? ", " : "", n.steps - b * range / n.batch);
  return text;
}

std::string text_of(const Net& n) {
  std::string parameters, constants, call = n.op + "(%x";
  int seed = 10;
  const auto add = [&](const char* name, const std::string& shape, bool constant, double deviation) {
    if (constant)
      constants +=
          fmt::format("  %{0}: f32{1} = constant() {{value = random(f32{1}, seed = {2}, std = {3})}}\n", name,
                      shape, ++seed, deviation);
    else
      parameters += fmt::format(", %{}: f32{}", name, shape);
    call += fmt::format(", %{}", name);
  };
  const int d = n.directions(), width = n.gates() * n.hidden;
  // With a deviation that keeps large nets from amplifying rounding errors.
  const double deviation = 1 / std::sqrt(4.0 * n.hidden);
  add("w", fmt::format("[{}, {}, {}]", d, width, n.inputs), !n.values, 0.5);
  add("r", fmt::format("[{}, {}, {}]", d, width, n.hidden), !n.values || n.hidden > 1, deviation);
  const std::string state = n.batch_first ? fmt::format("[{}, {}, {}]", n.batch, d, n.hidden)
                                          : fmt::format("[{}, {}, {}]", d, n.batch, n.hidden);
  if (n.bias)
    add("b", fmt::format("[{}, {}]", d, 2 * width), true, 0.5);
  else
    call += ", _";
  if (n.lengths) {
    constants +=
        fmt::format("  %l: i32[{0}] = constant() {{value = i32[{0}]({1})}}\n", n.batch, lengths_of(n));
    call += ", %l";
  } else {
    call += ", _";
  }
  if (n.states)
    add("h", state, false, 0);
  else
    call += ", _";
  if (n.op == "lstm") {
    if (n.states)
      add("c", state, false, 0);
    else
      call += ", _";
    if (n.peepholes) add("p", fmt::format("[{}, {}]", d, 3 * n.hidden), true, 0.5);
  }
  std::string results = "%y: f32[*]";
  for (int i = 1; i < std::min(n.outputs, n.max_outputs()); ++i) results += fmt::format(", %y{}: f32[*]", i);
  const std::string x = n.batch_first ? fmt::format("[{}, {}, {}]", n.batch, n.steps, n.inputs)
                                      : fmt::format("[{}, {}, {}]", n.steps, n.batch, n.inputs);
  return fmt::format(
      "graph @g(%x: f32{}{}) -> (%y: f32[*] as \"y\") {{\n{}  {} = {}) {{direction = \"{}\", layout = "
      "{}{}{}}}\n}}",
      x, parameters, constants, results, call, n.direction, n.batch_first ? 1 : 0,
      n.options.empty() ? "" : ", ", n.options);
}

std::vector<const CellFunctions*> cells_of_this_cpu() {
  std::vector<const CellFunctions*> list{&cell_functions_baseline()};
  if (cpu_features().has_avx2()) list.push_back(&cell_functions_avx2());
  if (cpu_features().has_avx512()) list.push_back(&cell_functions_avx512());
  return list;
}

Tensor in_panels(const Tensor& weights, const CellFunctions& functions) {
  const auto width = static_cast<std::uint16_t>(functions.panel().width);
  Tensor packed = Tensor::zeros(DType::f32, weights.shape(), Layout{{0, 1, 2}, {{1, width}}});
  copy_tensor(weights, packed);
  return packed;
}

Recurrence recurrence_of(const NodeCase& net_case, const CellFunctions& functions) {
  const Node& node = *net_case.node;
  const auto shape =
      ops::RecurrentShape::of(node.attributes, net_case.inputs[0].shape(), net_case.inputs[2].shape(),
                              ops::recurrent_kind(node.kind()).gates);
  return Recurrence::of(node.kind(), node.attributes, shape, functions);
}

/// All outputs of one instruction set's loops; elements not written are NaN.
std::vector<Tensor> run_net(const NodeCase& net_case, const Recurrence& net, int threads) {
  const auto given = [&](std::size_t i) {
    return i < net_case.inputs.size() && net_case.inputs[i].defined() ? net_case.inputs[i].as<float>().data()
                                                                      : nullptr;
  };
  const Tensor w = in_panels(net_case.inputs[1], *net.functions),
               r = in_panels(net_case.inputs[2], *net.functions);
  std::vector<Tensor> results;
  std::array<float*, 3> to{};
  for (std::size_t i = 0; i < net_case.results.size(); ++i) {
    results.push_back(Tensor::allocate(DType::f32, net_case.results[i].shape()));
    std::ranges::fill(results[i].as<float>(), NAN);
    to[i] = results[i].as<float>().data();
  }
  std::vector<float> scratch(static_cast<std::size_t>(net.units() * net.unit_floats()), NAN);
  const bool lengths = net_case.inputs.size() > 4 && net_case.inputs[4].defined();
  const RecurrentData data{given(0),
                           w.as<float>().data(),
                           r.as<float>().data(),
                           given(3),
                           given(5),
                           given(6),
                           given(7),
                           lengths ? net_case.inputs[4].data() : nullptr,
                           to[0],
                           to[1],
                           to[2],
                           scratch.data()};
  for (std::int64_t unit = 0; unit < net.units(); ++unit) run_unit(net, data, unit, {threads, threads});
  return results;
}

void expect_close(const Tensor& found, const Tensor& expected) {
  constexpr double tolerance = 5e-6;
  const auto a = found.as<float>(), b = expected.as<float>();
  for (std::size_t i = 0; i < b.size(); ++i)
    if (const double distance = std::abs(static_cast<double>(a[i]) - b[i]);
        !(distance <= tolerance * std::max(1.0, std::abs(static_cast<double>(b[i])))))
      FAIL() << "element " << i << " of " << b.size() << " is " << a[i] << ", expected " << b[i];
}

/// As one unit per direction and as several, on one thread and on two.
void expect_of_every_instruction_set(const Net& n) {
  const NodeCase net_case = make_case(text_of(n));
  for (const CellFunctions* functions : cells_of_this_cpu()) {
    Recurrence net = recurrence_of(net_case, *functions);
    for (const int threads : {1, 2}) {
      net.rows = threads == 1 ? net.shape.batch : (net.shape.batch + 2) / 3;
      SCOPED_TRACE(fmt::format("panels of {} columns, {} rows, {} threads", functions->panel().width,
                               net.rows, threads));
      const std::vector<Tensor> found = run_net(net_case, net, threads);
      for (std::size_t i = 0; i < found.size(); ++i) expect_close(found[i], net_case.results[i]);
    }
  }
}

class RecurrentSizes : public testing::TestWithParam<std::tuple<const char*, const char*, int, int>> {};

TEST_P(RecurrentSizes, agree_in_every_instruction_set) {
  const auto [op, direction, batch, hidden] = GetParam();
  for (const bool batch_first : {false, true})
    for (const bool lengths : {false, true}) {
      Net n{.op = op, .batch = batch, .hidden = hidden, .direction = direction};
      n.batch_first = batch_first;
      n.lengths = lengths;
      n.inputs = hidden == 16 ? 33 : 3;
      n.steps = batch * hidden > 1000 ? 2 : batch == 1 ? 67 : 9;
      SCOPED_TRACE(testing::PrintToString(n));
      expect_of_every_instruction_set(n);
    }
}
INSTANTIATE_TEST_SUITE_P(all, RecurrentSizes,
                         testing::Combine(testing::Values("lstm", "gru", "rnn"),
                                          testing::Values("forward", "reverse", "bidirectional"),
                                          testing::Values(1, 2, 8, 128), testing::Values(1, 7, 16, 50, 128)));

std::vector<Net> nets() {
  std::vector<Net> list;
  const auto each = [&](const std::function<void(Net&)>& change) {
    for (const char* op : {"lstm", "gru", "rnn"})
      for (const char* direction : {"forward", "reverse", "bidirectional"}) {
        Net n{.op = op, .batch = 3, .hidden = 19, .direction = direction};
        change(n);
        list.push_back(n);
      }
  };
  each([](Net& n) { n.bias = false; });
  each([](Net& n) { n.states = false; });
  each([](Net& n) { n.outputs = 1; });
  each([](Net& n) { n.outputs = 2; });
  each([](Net& n) { n.steps = 1; });
  each([](Net& n) { n.values = true; });
  each([](Net& n) { n.options = "clip = 0.3"; });
  each([](Net& n) {
    n.peepholes = n.op == "lstm";
    n.batch_first = n.lengths = true;
  });
  each([](Net& n) {
    n.options = n.op == "lstm" ? "input_forget = 1" : n.op == "gru" ? "linear_before_reset = 1" : "";
    n.lengths = true;
  });
  each([](Net& n) {
    n.options = n.op == "lstm"  ? "input_forget = 1, clip = 0.5"
                : n.op == "gru" ? "linear_before_reset = 1, clip = 0.5"
                                : "";
    n.peepholes = n.op == "lstm";
    n.bias = false;
  });
  return list;
}

class RecurrentNets : public testing::TestWithParam<Net> {};

TEST_P(RecurrentNets, agree_with_the_definition) {
  expect_of_every_instruction_set(GetParam());
  EXPECT_TRUE(check_tactics(text_of(GetParam())).contains("cpu/recurrent"));
}
INSTANTIATE_TEST_SUITE_P(options, RecurrentNets, testing::ValuesIn(nets()));

class RecurrentActivations : public testing::TestWithParam<const char*> {};

TEST_P(RecurrentActivations, agree_in_every_instruction_set) {
  const std::string name = GetParam();
  const bool two = name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
  for (const char* op : {"lstm", "gru", "rnn"})
    for (const bool given : {false, true}) {
      // Unbounded gates amplify rounding errors at every step.
      Net n{.op = op, .steps = 2, .batch = 2, .hidden = 18};
      const int count = n.max_outputs() == 3 ? 3 : n.op == "gru" ? 2 : 1;
      std::string names, alphas, betas;
      for (int i = 0; i < count; ++i) {
        names += fmt::format("{}\"{}\"", i ? ", " : "", name);
        alphas += fmt::format("{}0.{}", i ? ", " : "", 3 + i);
        betas += fmt::format("{}0.{}", i ? ", " : "", 6 - i);
      }
      n.options = fmt::format("activations = [{}]", names);
      if (given) n.options += fmt::format(", activation_alpha = [{}]", alphas);
      if (given && two) n.options += fmt::format(", activation_beta = [{}]", betas);
      SCOPED_TRACE(testing::PrintToString(n));
      expect_of_every_instruction_set(n);
    }
}
INSTANTIATE_TEST_SUITE_P(all, RecurrentActivations,
                         testing::Values("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "Affine",
                                         "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"));

// Large enough for every way of sharing the work.
TEST(Recurrent, splits_work_by_units_columns_or_not_at_all) {
  for (const char* direction : {"forward", "bidirectional"}) {
    const Net n{.op = "gru", .steps = 3, .batch = 1, .inputs = 5, .hidden = 300, .direction = direction};
    EXPECT_TRUE(check_tactics(text_of(n), {.threads = 4}).contains("cpu/recurrent"));
    EXPECT_TRUE(check_tactics(text_of(n), {.threads = 1}).contains("cpu/recurrent"));
  }
}

TEST(Recurrent, counts_the_flops_of_its_products) {
  const Net n{.op = "gru", .steps = 3, .batch = 2, .inputs = 5, .hidden = 7, .direction = "bidirectional"};
  EXPECT_EQ(flops_of(*make_case(text_of(n)).node), 2U * 3 * 2 * 2 * 3 * 7 * (5 + 7));
}

TEST(Recurrent, refuses_doubles) {
  const std::string text =
      "graph @g(%x: f64[2, 1, 3]) -> (%y: f64[*] as \"y\") {\n"
      "  %w: f64[1, 4, 3] = constant() {value = random(f64[1, 4, 3], seed = 1, std = 1.0)}\n"
      "  %r: f64[1, 4, 4] = constant() {value = random(f64[1, 4, 4], seed = 2, std = 1.0)}\n"
      "  %y: f64[*] = rnn(%x, %w, %r)\n}";
  expect_refused(check_tactics(text), {"cpu/recurrent"});
}

TEST(Recurrent, reads_i32_and_i64_lengths_and_refuses_those_beyond_the_input) {
  const Net n{.op = "rnn", .steps = 4, .batch = 3, .hidden = 5, .lengths = true};
  NodeCase net_case = make_case(text_of(n));
  Recurrence net = recurrence_of(net_case, cell_functions());
  net.rows = 3;
  Tensor wide = Tensor::allocate(DType::i64, net_case.inputs[4].shape());
  copy_tensor(net_case.inputs[4], wide);
  net_case.inputs[4] = wide;
  net.wide_lengths = true;
  const std::vector<Tensor> found = run_net(net_case, net, 1);
  for (std::size_t i = 0; i < found.size(); ++i) expect_close(found[i], net_case.results[i]);
  for (const std::int64_t length : {5, -1}) {
    wide.as<std::int64_t>()[1] = length;
    EXPECT_THROW(run_net(net_case, net, 1), Error);
  }
}

} // namespace
} // namespace lanner
