#include "builder/network_check.h"

#include <algorithm>
#include <cstring>
#include <latch>
#include <new>
#include <thread>

#include <fmt/format.h>

#include <lanner/error.h>

#include "builder/network_inputs.h"
#include "builder/verification.h"
#include "engine/state.h"

namespace lanner {
namespace {

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

/// Results of all runs of one context.
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

  /// Whether a run changes the input, so that it must be bound again.
  static bool is_changed(const Binding& input) { return input.state || input.overwritten; }

  void bind(Context& context, std::size_t i) const {
    context.bind(engine_.inputs()[i].name, in_binding(engine_, i, inputs_[i]));
  }

  void take(const Context& context, ContextRuns& found, std::size_t number) const {
    Outputs outputs;
    for (const Binding& binding : engine_.outputs()) {
      outputs.push_back(context.output(binding.name));
      if (Tensor& result = outputs.back().tensor; result.defined()) result = result.to(Device{});
    }
    if (number == 0) {
      found.first = std::move(outputs); // kept, so that later runs write elsewhere
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

} // namespace

std::string network_difference(const Engine& engine, std::span<const Item> inputs, PortableAnswers& answers,
                               const NetworkRuns& options, const Control& control) {
  const Graph& graph = state_of(engine).portable();
  const bool repeatable =
      std::ranges::none_of(graph.body().nodes(), [](const auto& node) { return draws_anew(*node); });
  NetworkRun run(engine, inputs, options, control, repeatable);
  const std::vector<ContextRuns>& found = run.run();
  for (std::size_t c = 0; c < found.size(); ++c)
    if (!found[c].wrong.empty()) return fmt::format("context {}: {}", c + 1, found[c].wrong);
  for (std::size_t o = 0; o < engine.outputs().size(); ++o) {
    const std::string& name = engine.outputs()[o].name;
    for (std::size_t c = 1; repeatable && c < found.size(); ++c)
      if (!same_bits(found[c].first[o], found[0].first[o]))
        return fmt::format("output {} differs between contexts", name);
    const std::string wrong = answers.difference(o, found[0].first[o]);
    if (!wrong.empty()) return fmt::format("output {}: {}", name, wrong);
  }
  return {};
}

} // namespace lanner
