#include "builder/portable_answers.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "builder/verification.h"
#include "graph/op.h"
#include "lower/check/quick_products.h"
#include "ops/interpreter/interpreter.h"
#include "program/weights/packing.h"

namespace lanner {
namespace {

/// In single precision results of the zoo's networks differ by at most 1e-3 of their norm.
constexpr AnswerBounds single{0.01, 0.05, 0};
/// Rounding of quantised and 16-bit values adds up over layers.
constexpr AnswerBounds coarse{0.05, INFINITY, 0.05}, coarsest{0.5, INFINITY, 0.1};
/// Below this norm a relative distance says little.
constexpr double tiny = 1e-6;
/// Number of runs on slightly disturbed inputs.
constexpr std::uint64_t disturbances = 3;

template<typename Test>
bool any_node(const Region& region, const Test& test) {
  return std::ranges::any_of(region.nodes(), [&](const auto& node) {
    return test(*node) ||
           std::ranges::any_of(node->regions(), [&](const auto& inner) { return any_node(*inner, test); });
  });
}

bool is_half(const Type& type) {
  return type.is_tensor() && is_float(type.dtype()) && bit_width(type.dtype()) < 32;
}

bool is_narrow(const Target& target) {
  return target.precision.allows(DType::f16) || target.precision.allows(DType::bf16);
}

bool has_halves(const Graph& graph) {
  return any_node(graph.body(), [](const Node& node) {
    return std::ranges::any_of(node.outputs(), [](const auto& value) { return is_half(value->type); });
  });
}

bool quantizes(const Graph& graph) {
  return any_node(graph.body(),
                  [](const Node& node) { return node.kind().find("quant") != std::string::npos; });
}

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor wide = pack(tensor, of_type(DType::f64));
  const auto values = wide.as<double>();
  return {values.begin(), values.end()};
}

std::string reals_difference(const Tensor& got, const Tensor& want, const AnswerBounds& bounds) {
  const std::vector<double> x = numbers(got), y = numbers(want);
  double squares = 0, apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(y[i])) continue;
    if (!std::isfinite(x[i])) return fmt::format("element {} is {}, expected {}", i, x[i], y[i]);
    squares += y[i] * y[i];
    apart += (x[i] - y[i]) * (x[i] - y[i]);
  }
  const double root = std::sqrt(static_cast<double>(std::max<std::size_t>(x.size(), 1)));
  const double norm = std::sqrt(squares), distance = std::sqrt(apart);
  if (distance > bounds.norm * norm + tiny * root)
    return fmt::format("it differs by {:.3g} of its norm from the definitions' result", distance / norm);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::isfinite(y[i]) && std::abs(x[i] - y[i]) > bounds.element * (std::abs(y[i]) + norm / root) + tiny)
      return fmt::format("element {} is {}, expected {}", i, x[i], y[i]);
  return {};
}

/// Difference of elements that are not reals.
std::string elements_difference(const Tensor& got, const Tensor& want, const AnswerBounds& bounds) {
  const auto count = static_cast<std::size_t>(want.elements());
  std::size_t first = count, differ = 0;
  const auto compare = [&](const auto& x, const auto& y) {
    for (std::size_t i = 0; i < count; ++i)
      if (x[i] != y[i] && differ++ == 0) first = i;
  };
  if (want.dtype() == DType::string) {
    compare(got.as<std::string>(), want.as<std::string>());
  } else {
    const DType wide = want.dtype() == DType::u64 ? DType::u64 : DType::i64;
    const Tensor x = pack(got, of_type(wide)), y = pack(want, of_type(wide));
    if (wide == DType::u64)
      compare(x.as<std::uint64_t>(), y.as<std::uint64_t>());
    else
      compare(x.as<std::int64_t>(), y.as<std::int64_t>());
  }
  if (static_cast<double>(differ) <= bounds.share * static_cast<double>(count)) return {};
  return fmt::format("{} of {} elements differ from the definitions' result, the first at {}", differ, count,
                     first);
}

/// The tensor with relative noise of size `step`.
Tensor disturbed(const Tensor& tensor, double step, std::mt19937_64& generator) {
  if (!tensor.defined() || !is_float(tensor.dtype()) || bit_width(tensor.dtype()) < 16) return tensor;
  Tensor wide = pack(tensor, of_type(DType::f64)).clone();
  for (double& value : wide.as<double>()) value *= generator() % 2 == 0 ? 1 + step : 1 - step;
  return pack(wide, of_type(tensor.dtype()));
}

bool sums_products(const Node& node) {
  return pattern_of(node) == Pattern::contraction;
}

/// The outputs that depend on random numbers without a seed.
std::vector<bool> random_outputs(const Graph& graph) {
  std::set<const Value*> random;
  for (const auto& node : graph.body().nodes()) {
    const bool reads = std::ranges::any_of(
        node->inputs(), [&](const Value* input) { return input && random.contains(input); });
    if (reads || draws_anew(*node))
      for (const auto& output : node->outputs()) random.insert(output.get());
  }
  std::vector<bool> outputs;
  for (const Value* output : graph.body().outputs()) outputs.push_back(random.contains(output));
  return outputs;
}

} // namespace

AnswerBounds answer_bounds(const Graph& graph, const Target& target) {
  if (is_narrow(target) || has_halves(graph)) return coarsest;
  return quantizes(graph) ? coarse : single;
}

std::string answer_difference(const Item& got, const Item& want, const AnswerBounds& bounds) {
  if (got.is_sequence() != want.is_sequence() || got.absent != want.absent) return "it is of another kind";
  if (want.is_sequence()) {
    if (got.items->size() != want.items->size())
      return fmt::format("it has {} elements, expected {}", got.items->size(), want.items->size());
    for (std::size_t i = 0; i < want.items->size(); ++i)
      if (const auto wrong = answer_difference((*got.items)[i], (*want.items)[i], bounds); !wrong.empty())
        return fmt::format("element {}: {}", i, wrong);
    return {};
  }
  const Tensor &a = got.tensor, &b = want.tensor;
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? "" : "it is of another kind";
  if (a.shape() != b.shape())
    return fmt::format("its shape is {}, expected {}", a.shape().to_string(), b.shape().to_string());
  if ((a.dtype() == DType::string) != (b.dtype() == DType::string) ||
      is_float(a.dtype()) != is_float(b.dtype()))
    return fmt::format("it is {}, expected {}", to_string(a.dtype()), to_string(b.dtype()));
  return is_float(b.dtype()) ? reals_difference(a, b, bounds) : elements_difference(a, b, bounds);
}

PortableAnswers::PortableAnswers(std::unique_ptr<const Graph> graph, std::vector<Item> inputs,
                                 const Target& target, const Control& control)
    : graph_(std::move(graph)), inputs_(std::move(inputs)), target_(target), control_{control.cancel, {}},
      bounds_(answer_bounds(*graph_, target)), answers_(run(false, 0)), undecided_(random_outputs(*graph_)) {}

std::vector<Item> PortableAnswers::run(bool differs, std::uint64_t seed) const {
  const double step = is_narrow(target_) ? 4e-3 : 1e-6;
  std::mt19937_64 generator(seed);
  std::vector<Item> inputs = inputs_;
  if (differs)
    for (Item& input : inputs)
      if (!input.is_sequence()) input.tensor = disturbed(input.tensor, step, generator);
  NodeRunOptions options{.threads = target_.threads, .control = &control_};
  options.instead = [&](const Node& node, std::span<const Item* const> operands) {
    auto made = quick_product(node, operands, target_.threads);
    if (!differs || !sums_products(node)) return made;
    if (!made) made = run_node(node, operands, {.threads = target_.threads, .control = &control_});
    for (Item& item : *made) item.tensor = disturbed(item.tensor, step, generator);
    return made;
  };
  return run_reference(*graph_, inputs, options);
}

/// Whether disturbed inputs change the output by at most a quarter of the bounds.
bool PortableAnswers::is_steady(std::size_t output) {
  if (!disturbed_) {
    disturbed_.emplace();
    for (std::uint64_t seed = 1; seed <= disturbances; ++seed) disturbed_->push_back(run(true, seed));
  }
  const AnswerBounds near{bounds_.norm / 4, bounds_.element / 4, bounds_.share / 4};
  return std::ranges::all_of(*disturbed_, [&](const std::vector<Item>& other) {
    return answer_difference(other[output], answers_[output], near).empty();
  });
}

std::string PortableAnswers::difference(std::size_t output, const Item& got) {
  if (undecided_[output]) return {};
  std::string wrong = answer_difference(got, answers_[output], bounds_);
  if (wrong.empty() || is_steady(output)) return wrong;
  undecided_[output] = true;
  return {};
}

} // namespace lanner
