#pragma once
// What kernels' sources for NVRTC need of a GPU, on the host: threads of a block run in turn, each until it
// waits for others. Included in front of sources by emulated_kernels.cpp; no part of the tests' own program.

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

namespace emulated {

struct Places {
  unsigned x = 0, y = 0, z = 0;
};

constexpr unsigned most_threads = 1024, warp = 32, stack_bytes = 64 * 1024, most_shared = 227 * 1024;

/// A copy that goes on while its thread does other work.
struct Copy {
  void* to;
  const void* from;
  unsigned bytes, read; // Behind what is read come zeros.

  void run() const {
    memset(to, 0, bytes);
    if (read > 0) memcpy(to, from, read);
  }
};

struct Thread {
  ucontext_t context;
  bool ended = true;
  unsigned exchanges = 0, barriers = 0;
  alignas(8) unsigned char values[2][32] = {}; // Of exchanges, in turn.
  std::vector<Copy> copies;                    // Not yet of a group.
  std::deque<std::vector<Copy>> groups;        // Oldest first.
};

struct Gpu {
  ucontext_t scheduler;
  Thread threads[most_threads];
  std::unique_ptr<char[]> stacks{new char[std::size_t{most_threads} * stack_bytes]};
  unsigned running = 0, count = 0, arrived = 0, barriers = 0;
  bool moved = false, wrong = false;
  bool copies_at_once = false; // Else as late as a thread may see them.
  alignas(1024) unsigned char shared[most_shared];
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

namespace emulated {

/// What each thread of the caller's warp gave, all 32 of which call it, the same number of times.
template<typename T>
class Exchanged {
public:
  explicit Exchanged(const T& value) {
    static_assert(sizeof(T) <= sizeof(Thread::values[0]));
    Gpu& g = gpu();
    Thread& thread = g.threads[g.running];
    first_ = g.running / warp * warp;
    number_ = thread.exchanges++;
    memcpy(thread.values[number_ % 2], &value, sizeof value);
    g.moved = true;
    while (!all_there()) wait();
  }
  /// Nobody is two exchanges ahead: for that they would need this thread's next value.
  T of(unsigned lane) const {
    T value;
    memcpy(&value, gpu().threads[first_ + lane].values[number_ % 2], sizeof value);
    return value;
  }

private:
  bool all_there() const {
    for (unsigned i = first_; i < first_ + warp; ++i)
      if (i >= gpu().count || gpu().threads[i].exchanges <= number_) return false;
    return true;
  }
  unsigned first_ = 0, number_ = 0;
};

inline unsigned lane() {
  return gpu().running % warp;
}

} // namespace emulated

inline float __shfl_xor_sync(unsigned mask, float value, int distance) {
  const emulated::Exchanged<float> all(value);
  const unsigned other = emulated::lane() ^ static_cast<unsigned>(distance);
  if (mask == 0xffffffffu && other < emulated::warp) return all.of(other);
  emulated::gpu().wrong = true;
  return value;
}

inline void __syncwarp() {
  const emulated::Exchanged<int> all(0);
}

// Instructions of matrix_source.h.
namespace emulated {

inline unsigned char* dynamic_shared() {
  return gpu().shared;
}

inline void copy_async(void* to, const void* from, unsigned bytes, bool inside) {
  Gpu& g = gpu();
  const Copy copy{to, from, bytes, inside ? bytes : 0};
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0 ||
      (inside && reinterpret_cast<uintptr_t>(from) % bytes != 0))
    g.wrong = true;
  if (g.copies_at_once)
    copy.run();
  else
    g.threads[g.running].copies.push_back(copy);
}

inline void end_group() {
  Thread& thread = gpu().threads[gpu().running];
  thread.groups.push_back(std::move(thread.copies));
  thread.copies.clear();
}

/// Until no more than `rest` groups are under way.
inline void wait_for_groups(unsigned rest) {
  Thread& thread = gpu().threads[gpu().running];
  for (; thread.groups.size() > rest; thread.groups.pop_front())
    for (const Copy& copy : thread.groups.front()) copy.run();
}

/// ldmatrix: four matrices of 8 x 8 elements, whose rows the threads give.
inline void load_matrices(unsigned (&result)[4], const void* row, bool transposed) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) gpu().wrong = true;
  const Exchanged<const void*> rows(row);
  for (unsigned i = 0; i < 4; ++i) {
    unsigned short pair[2];
    for (unsigned k = 0; k < 2; ++k) {
      const unsigned near = lane() % 4 * 2 + k, far = lane() / 4;
      memcpy(&pair[k],
             static_cast<const char*>(rows.of(i * 8 + (transposed ? near : far))) +
                 2 * (transposed ? far : near),
             2);
    }
    memcpy(&result[i], pair, sizeof pair);
  }
}

/// mma.m16n8k16 with elements of type T.
template<typename T>
void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  struct Given {
    unsigned a[4], b[2];
  };
  const Exchanged<Given> all({{a[0], a[1], a[2], a[3]}, {b0, b1}});
  const auto element = [](unsigned word, unsigned half) {
    return load(T{static_cast<unsigned short>(word >> (16 * half))});
  };
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane() / 4, column = lane() % 4 * 2 + i % 2;
    float sum = 0;
    for (unsigned k = 0; k < 16; ++k)
      sum += element(all.of(row * 4 + k % 8 / 2).a[i / 2 + k / 8 * 2], k % 2) *
             element(all.of(column * 4 + k % 8 / 2).b[k / 8], k % 2);
    c[i] += sum;
  }
}

inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(static_cast<const unsigned char*>(p) - gpu().shared);
}

/// A matrix of shared memory as wgmma is told of it, in the order of 128 bytes.
template<typename T>
struct Described {
  unsigned start, panel, rows;

  explicit Described(unsigned long long descriptor)
      : start((descriptor & 0x3fff) << 4), panel((descriptor >> 16 & 0x3fff) << 4),
        rows((descriptor >> 32 & 0x3fff) << 4) {
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0) gpu().wrong = true;
  }
  /// Of element `across` of the side that is multiplied with, at `k` of the depth.
  float at(unsigned across, unsigned k, bool down) const {
    unsigned place = down ? start + across / 64 * panel + across % 64 * 2 + k / 8 * rows + k % 8 * 128
                          : start + across / 8 * rows + across % 8 * 128 + k * 2;
    place ^= (place >> 7 & 7) << 4;
    if (place + 2 > most_shared) {
      gpu().wrong = true;
      return 0;
    }
    T element;
    memcpy(&element, gpu().shared + place, sizeof element);
    return load(element);
  }
};

/// wgmma.m64nNk16, done at once.
template<typename T, int DOWN, int COUNT>
void group_multiply(float (&c)[COUNT][4], unsigned long long of_a, unsigned long long of_b) {
  const Described<T> a(of_a), b(of_b);
  const unsigned warp_of_group = gpu().running / warp % 4;
  for (unsigned half = 0; half < 2; ++half) {
    float row[16];
    for (unsigned k = 0; k < 16; ++k) row[k] = a.at(warp_of_group * 16 + lane() / 4 + half * 8, k, false);
    for (unsigned j = 0; j < COUNT; ++j)
      for (unsigned e = 0; e < 2; ++e)
        for (unsigned k = 0; k < 16; ++k)
          c[j][half * 2 + e] += row[k] * b.at(j * 8 + lane() % 4 * 2 + e, k, DOWN != 0);
  }
}

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
    memset(g.shared, 0xff, sizeof g.shared);
    for (unsigned i = 0; i < threads; ++i) {
      Thread& thread = g.threads[i];
      thread.ended = false;
      thread.exchanges = 0;
      thread.copies.clear();
      thread.groups.clear();
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
