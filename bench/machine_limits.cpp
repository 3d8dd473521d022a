#include "machine_limits.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include <benchmark/benchmark.h>

#include "device/parallel.h"

namespace lanner::bench {

namespace {

using Vector = float __attribute__((vector_size(64)));
#define LANNER_CLONES __attribute__((target_clones("avx512f", "fma", "default")))

constexpr int chains = 10;
constexpr std::int64_t flops_a_step = chains * 16 * 2;

LANNER_CLONES void multiply_add(std::int64_t steps, Vector* result) {
  Vector sums[chains], factor = Vector{} + 0.999F, addend = Vector{} + 0.001F;
  for (int c = 0; c < chains; ++c) sums[c] = factor * static_cast<float>(c);
  for (std::int64_t i = 0; i < steps; ++i)
#pragma GCC unroll 10
    for (int c = 0; c < chains; ++c) sums[c] = sums[c] * factor + addend;
  for (int c = 1; c < chains; ++c) sums[0] += sums[c];
  *result = sums[0];
}

LANNER_CLONES void sum(const Vector* from, std::int64_t count, Vector* result) {
  constexpr int width = 8;
  Vector sums[width] = {};
  for (std::int64_t i = 0; i + width <= count; i += width)
#pragma GCC unroll 8
    for (int c = 0; c < width; ++c) sums[c] += from[i + c];
  for (int c = 1; c < width; ++c) sums[0] += sums[c];
  *result = sums[0];
}

/// The shortest of some runs.
template<typename Body>
double seconds(Body body) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

} // namespace

double peak_flops(int threads) {
  static std::map<int, double> known;
  if (const auto found = known.find(threads); found != known.end()) return found->second;
  constexpr std::int64_t steps = 500'000;
  const double time = seconds([&] {
    parallel_for(threads, 0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
      Vector result;
      for (std::int64_t i = begin; i < end; ++i) multiply_add(steps, &result);
      benchmark::DoNotOptimize(result);
    });
  });
  return known[threads] = static_cast<double>(steps * flops_a_step * threads) / time;
}

double read_bandwidth(std::size_t bytes, int threads) {
  std::vector<Vector> memory(bytes / sizeof(Vector) + 1);
  const auto count = static_cast<std::int64_t>(memory.size());
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (8u << 20) / bytes));
  const double time = seconds([&] {
    parallel_for(threads, 0, count, (count + threads - 1) / threads,
                 [&](std::int64_t begin, std::int64_t end) {
                   Vector result;
                   for (int i = 0; i < repeats; ++i) {
                     sum(memory.data() + begin, end - begin, &result);
                     benchmark::DoNotOptimize(result);
                   }
                 });
  });
  return static_cast<double>(bytes) * repeats / time;
}

} // namespace lanner::bench
