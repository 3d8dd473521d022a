#include "compiler/network_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <latch>
#include <limits>
#include <new>
#include <set>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include <lanner/error.h>

#include "compiler/verification.h"
#include "engine/state.h"
#include "graph/op.h"
#include "plan/packing.h"

namespace lanner {
namespace {

/// Shares of the norm of the interpreter's outputs, far beyond what rounding makes of a network that is
/// right: the zoo's networks lie at most 1e-3 apart in single precision.
constexpr double gross = 0.05, gross_of_halves = 0.5;
/// Below this share of numbers a norm says little.
constexpr double tiny = 1e-6;

using Outputs = std::vector<Item>;

bool same_bits(const Item& a, const Item& b) {
  if (a.is_sequence() != b.is_sequence() || a.absent != b.absent) return false;
  if (a.is_sequence())
    return a.items->size() == b.items->size() &&
           std::equal(a.items->begin(), a.items->end(), b.items->begin(), same_bits);
  if (a.tensor.defined() != b.tensor.defined()) return false;
  if (!a.tensor.defined()) return true;
  if (a.tensor.dtype() != b.tensor.dtype() || a.tensor.shape() != b.tensor.shape()) return false;
  if (a.tensor.dtype() == DType::string)
    return std::ranges::equal(a.tensor.as<std::string>(), b.tensor.as<std::string>());
  return a.tensor.bytes() == 0 || std::memcmp(a.tensor.data(), b.tensor.data(), a.tensor.bytes()) == 0;
}

bool any_node(const Region& region, const auto& test) {
  return std::ranges::any_of(region.nodes(), [&](const auto& node) {
    return test(*node) ||
           std::ranges::any_of(node->regions(), [&](const auto& inner) { return any_node(*inner, test); });
  });
}

/// Whether a small difference may choose other values, or put them in another order.
bool picks(const Graph& graph) {
  static const std::set<std::string_view> kinds{
      "top_k", "non_max_suppression", "arg_max", "arg_min", "hardmax", "unique", "if", "loop", "non_zero"};
  return any_node(graph.body(), [](const Node& node) { return kinds.contains(node.kind()); });
}

bool is_half(const Type& type) {
  return type.is_tensor() && is_float(type.dtype()) && bit_width(type.dtype()) < 32;
}

/// How far outputs may lie from the interpreter's, as a share of their norm.
double bound_for(const Graph& graph, const Target& target) {
  if (picks(graph)) return std::numeric_limits<double>::infinity();
  const bool halves = any_node(graph.body(), [](const Node& node) {
    return std::ranges::any_of(node.outputs(), [](const auto& value) { return is_half(value->type); });
  });
  const bool narrow = target.precision.allows(DType::f16) || target.precision.allows(DType::bf16);
  return halves || narrow ? gross_of_halves : gross;
}

/// What one context found in all its runs.
struct ContextRuns {
  Outputs first;
  std::string wrong;
};

class NetworkRun {
public:
  NetworkRun(const Engine& engine, std::span<const Item> inputs, const NetworkRuns& options,
             const Control& control, bool repeatable)
      : engine_(engine), inputs_(inputs), options_(options), quiet_{control.cancel, {}},
        repeatable_(repeatable), found_(options.contexts) {}

  /// Throws Error{cancelled}.
  const std::vector<ContextRuns>& run() {
    std::latch start(static_cast<std::ptrdiff_t>(options_.contexts));
    {
      std::vector<std::jthread> threads;
      for (ContextRuns& found : found_)
        threads.emplace_back([&] {
          start.arrive_and_wait();
          run_context(found);
        });
    }
    quiet_.cancel.check();
    return found_;
  }

private:
  void run_context(ContextRuns& found) const {
    try {
      Context context = engine_.create_context({.threads = options_.threads});
      for (std::size_t i = 0; i < inputs_.size(); ++i) bind(context, i);
      for (std::size_t number = 0; number < options_.runs && found.wrong.empty(); ++number) {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
          if (number > 0 && is_changed(engine_.inputs()[i])) bind(context, i);
        context.run({}, quiet_);
        take(context, found, number);
      }
    } catch (const Error& error) {
      found.wrong = fmt::format("it fails: {}", error.message());
    } catch (const std::bad_alloc&) {
      found.wrong = "it fails: memory was refused by the system";
    }
  }

  /// What a run leaves behind is not what the next one is to begin with.
  static bool is_changed(const Binding& input) { return input.state || input.overwritten; }

  /// As the input is held; in memory of its own where a run may write over it.
  void bind(Context& context, std::size_t i) const {
    const Binding& input = engine_.inputs()[i];
    Item item = inputs_[i];
    if (!input.sequence && item.tensor.dtype() != DType::string) {
      if (is_changed(input)) item.tensor = item.tensor.clone();
      const HeldStorage& held = state_of(engine_).callers.input(i);
      Storage storage;
      storage.dtype = input.dtype;
      storage.layout = held.layout;
      item.tensor = pack(item.tensor, storage);
    }
    context.bind(input.name, std::move(item));
  }

  void take(const Context& context, ContextRuns& found, std::size_t number) const {
    Outputs outputs;
    for (const Binding& binding : engine_.outputs()) {
      outputs.push_back(context.output(binding.name));
      if (Tensor& result = outputs.back().tensor; result.defined()) result = result.to(Device{});
    }
    if (number == 0) {
      found.first = std::move(outputs); // held here, so that later runs write elsewhere
      return;
    }
    for (std::size_t o = 0; repeatable_ && o < outputs.size(); ++o)
      if (!same_bits(outputs[o], found.first[o]))
        found.wrong = fmt::format("output {} of run {} differs from that of the first run",
                                  engine_.outputs()[o].name, number + 1);
  }

  const Engine& engine_;
  std::span<const Item> inputs_;
  const NetworkRuns& options_;
  const Control quiet_;
  bool repeatable_;
  std::vector<ContextRuns> found_;
};

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor wide = pack(tensor, of_type(DType::f64));
  const auto values = wide.as<double>();
  return {values.begin(), values.end()};
}

} // namespace

std::string gross_difference(const Item& got, const Item& want, double bound) {
  const Tensor &a = got.tensor, &b = want.tensor;
  if (!a.defined() || !b.defined() || !is_float(a.dtype()) || a.shape() != b.shape()) return {};
  const std::vector<double> x = numbers(a), y = numbers(b);
  double squares = 0, apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(y[i])) continue;
    if (!std::isfinite(x[i])) return fmt::format("element {} is {}, expected {}", i, x[i], y[i]);
    squares += y[i] * y[i];
    apart += (x[i] - y[i]) * (x[i] - y[i]);
  }
  const double size = std::sqrt(static_cast<double>(std::max<std::size_t>(x.size(), 1)));
  const double norm = std::sqrt(squares), distance = std::sqrt(apart);
  if (distance <= bound * norm + tiny * size) return {};
  return fmt::format("it lies {:.3g} of its norm from what the definitions give", distance / norm);
}

std::string network_difference(const Engine& engine, std::span<const Item> inputs,
                               std::span<const Item> expected, const NetworkRuns& options,
                               const Control& control) {
  const Graph& graph = state_of(engine).portable();
  const bool repeatable = !any_node(graph.body(), draws_anew);
  NetworkRun run(engine, inputs, options, control, repeatable);
  const std::vector<ContextRuns>& found = run.run();
  for (std::size_t c = 0; c < found.size(); ++c)
    if (!found[c].wrong.empty()) return fmt::format("context {}: {}", c + 1, found[c].wrong);
  if (!repeatable) return {};
  const double bound = bound_for(graph, state_of(engine).target);
  for (std::size_t o = 0; o < engine.outputs().size(); ++o) {
    const std::string& name = engine.outputs()[o].name;
    for (std::size_t c = 1; c < found.size(); ++c)
      if (!same_bits(found[c].first[o], found[0].first[o]))
        return fmt::format("output {} differs between contexts", name);
    const std::string wrong = gross_difference(found[0].first[o], expected[o], bound);
    if (!wrong.empty()) return fmt::format("output {}: {}", name, wrong);
  }
  return {};
}

} // namespace lanner
