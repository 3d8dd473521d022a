#include "builder/measurement.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>

#include "backends/backends.h"
#include "base/check.h"
#include "device/machine_limits.h"
#include "device/memory.h"
#include "device/parallel.h"
#include "device/team.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "lower/lower.h"
#include "ops/table/table.h"

namespace lanner {
namespace {

/// Seconds of a single-node graph with its fastest kernel, as a build finds it.
double seconds_of(const std::string& text, const Target& target, const Control& control) {
  constexpr double budget = 5;
  const auto backends = backends_for(target);
  TimingCache cache;
  WeightStore constants;
  Tuner tuner(target, budget, cache, constants, control);
  std::unique_ptr<Graph> graph = parse_graph(text, builtin_op_table());
  infer_types(*graph);
  const Lowered lowered = lower(std::move(graph), {backends, target, tuner, constants, control});
  for (const auto& node : lowered.graph->body().nodes())
    if (node->kind() == "matmul" || node->kind() == "relu")
      if (node->tactic.seconds > 0) return node->tactic.seconds;
  fail(ErrorCode::unsupported, "no kernel of {} could be timed here", target.device.to_string());
}

double product_rate(std::int64_t size, const Target& target, const Control& control) {
  const std::string text =
      fmt::format("graph @product(%a: f32[{0}, {0}]) -> (%y) {{\n"
                  "  %w = constant() {{value = random(f32[{0}, {0}], seed = 1, std = 1.0)}}\n"
                  "  %y = matmul(%a, %w)\n}}\n",
                  size);
  const auto n = static_cast<double>(size);
  return 2 * n * n * n / seconds_of(text, target, control);
}

double relu_seconds(std::int64_t elements, const Target& target, const Control& control) {
  const std::string text =
      fmt::format("graph @pass(%x: f32[{}]) -> (%y) {{\n  %y = relu(%x)\n}}\n", elements);
  return seconds_of(text, target, control);
}

/// Overhead of a parallel region over a plain function call: median of many.
double team_start() {
  constexpr int tries = 201;
  std::vector<double> seconds;
  const TeamsNeeded teams;
  for (int i = 0; i < tries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(2, 0, 2, 1, [](std::int64_t, std::int64_t) {});
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + tries / 2);
  return seconds[tries / 2];
}

/// Seconds of a synchronous copy from a GPU to the host: median of several.
double fetch_seconds(Device device, std::uint64_t bytes, const Control& control) {
  constexpr int tries = 11;
  const auto from = allocate_memory(device, bytes), to = allocate_pinned(device, bytes);
  clear_memory({from.get(), device}, bytes);
  std::array<double, tries> seconds{};
  for (double& one : seconds) {
    control.cancel.check();
    synchronize(device);
    const auto start = std::chrono::steady_clock::now();
    copy_memory({to.get(), {}}, {from.get(), device}, bytes);
    synchronize(device);
    one = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::ranges::nth_element(seconds, seconds.begin() + tries / 2);
  return seconds[tries / 2];
}

void measure_copies(Device device, const Control& control, MachineLimits& limits) {
  constexpr std::uint64_t small = 256, large = 1 << 26;
  limits.copy_start = fetch_seconds(device, small, control);
  const double moving = fetch_seconds(device, large, control) - limits.copy_start;
  limits.copied_bytes = static_cast<double>(large) / std::max(moving, 1e-9);
}

} // namespace

MachineLimits measured_limits(Device device, const Control& control) {
  Target target;
  target.device = device;
  target.isa = isa_of(device);
  target.host_isa = isa_of({});
  const bool host = device.is_host();
  const std::int64_t product = host ? 512 : 4096, in_memory = host ? 1 << 24 : 1 << 27,
                     in_cache = host ? 1 << 15 : 1 << 20;
  constexpr double bytes = 8; // An element is read and written.
  MachineLimits limits;
  limits.start = relu_seconds(16, target, control);
  const auto rate = [&](std::int64_t elements) {
    const double moving = relu_seconds(elements, target, control) - limits.start;
    return bytes * static_cast<double>(elements) / std::max(moving, 1e-9);
  };
  limits.bytes = rate(in_memory);
  limits.cached_bytes = std::max(rate(in_cache), limits.bytes);
  limits.operations = limits.half_operations = product_rate(product, target, control);
  if (host) {
    limits.team_start = team_start();
  } else {
    target.precision.types = {DType::f32, DType::f16};
    limits.half_operations = std::max(product_rate(product, target, control), limits.operations);
    measure_copies(device, control, limits);
  }
  check(plausible(limits, device.kind), ErrorCode::internal, "{}: the measured limits are implausible",
        device.to_string());
  return limits;
}

} // namespace lanner
