#pragma once
// What kernels' sources for NVRTC need of a GPU, on the host: threads of a block run in turn, each until it
// waits for others. Included in front of sources by emulated_kernels.cpp; no part of the tests' own program.

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <memory>
#include <utility>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

namespace emulated {

struct Places {
  unsigned x = 0, y = 0, z = 0;
};

constexpr unsigned most_threads = 1024, warp = 32, stack_bytes = 64 * 1024;

struct Thread {
  ucontext_t context;
  bool ended = true;
  unsigned exchanges = 0, barriers = 0;
  unsigned values[2] = {}; // Of exchanges, in turn.
};

struct Gpu {
  ucontext_t scheduler;
  Thread threads[most_threads];
  std::unique_ptr<char[]> stacks{new char[std::size_t{most_threads} * stack_bytes]};
  unsigned running = 0, count = 0, arrived = 0, barriers = 0;
  bool moved = false, wrong = false;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
};
inline Gpu& gpu() {
  static Gpu one;
  return one;
}

inline void wait() {
  Gpu& g = gpu();
  swapcontext(&g.threads[g.running].context, &g.scheduler);
}

inline void start() {
  Gpu& g = gpu();
  g.body(g.argument);
  g.threads[g.running].ended = true;
  g.moved = true;
  wait();
}

} // namespace emulated

static emulated::Places threadIdx, blockIdx, blockDim, gridDim;

inline int __float_as_int(float value) {
  int bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float __int_as_float(int bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline void __syncthreads() {
  emulated::Gpu& g = emulated::gpu();
  const unsigned own = g.barriers;
  ++g.arrived;
  g.moved = true;
  for (;;) {
    unsigned alive = 0;
    for (unsigned i = 0; i < g.count; ++i) alive += !g.threads[i].ended;
    if (g.barriers != own) return;
    if (g.arrived >= alive) {
      g.arrived = 0;
      ++g.barriers;
      g.moved = true;
      return;
    }
    emulated::wait();
  }
}

/// All 32 threads of a warp call it, the same number of times.
inline float __shfl_xor_sync(unsigned mask, float value, int distance) {
  emulated::Gpu& g = emulated::gpu();
  const unsigned own = g.running, first = own / emulated::warp * emulated::warp;
  emulated::Thread& thread = g.threads[own];
  const unsigned number = thread.exchanges++;
  memcpy(&thread.values[number % 2], &value, sizeof value);
  g.moved = true;
  const auto all_there = [&] {
    for (unsigned i = first; i < first + emulated::warp; ++i)
      if (i >= g.count || g.threads[i].exchanges <= number) return false;
    return true;
  };
  while (!all_there()) emulated::wait();
  // Nobody is two exchanges ahead: for that they would need this thread's next value.
  const unsigned other = first + ((own - first) ^ static_cast<unsigned>(distance));
  if (mask != 0xffffffffu || other >= first + emulated::warp) g.wrong = true;
  memcpy(&value, &g.threads[other].values[number % 2], sizeof value);
  return value;
}

namespace emulated {

/// False where threads wait for each other for ever, or exchange with others than their warp.
template<typename... Parameters>
bool run(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, void** arguments) {
  Gpu& g = gpu();
  struct Call {
    void (*kernel)(Parameters...);
    void** arguments;
  } call{kernel, arguments};
  g.argument = &call;
  g.body = [](void* argument) {
    const Call& made = *static_cast<Call*>(argument);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      made.kernel(*static_cast<Parameters*>(made.arguments[i])...);
    }
    (std::index_sequence_for<Parameters...>());
  };
  g.wrong = false;
  g.count = threads;
  blockDim.x = threads;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    g.arrived = 0;
    for (unsigned i = 0; i < threads; ++i) {
      Thread& thread = g.threads[i];
      thread.ended = false;
      thread.exchanges = 0;
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = g.stacks.get() + std::size_t{i} * stack_bytes;
      thread.context.uc_stack.ss_size = stack_bytes;
      thread.context.uc_link = nullptr;
      makecontext(&thread.context, start, 0);
    }
    for (unsigned alive = threads; alive > 0;) {
      g.moved = false;
      alive = 0;
      for (unsigned i = 0; i < threads; ++i) {
        if (g.threads[i].ended) continue;
        g.running = threadIdx.x = i;
        swapcontext(&g.scheduler, &g.threads[i].context);
        alive += !g.threads[i].ended;
      }
      if (alive > 0 && !g.moved) return false;
    }
  }
  return !g.wrong;
}

} // namespace emulated
