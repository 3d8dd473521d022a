#pragma once
// GPU features for kernels compiled by a host's compiler: included before .cu files and sources for NVRTC.
// The threads of a block run one at a time, each until it waits for others. Kept small, as it is compiled
// with each source.

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <utility>

namespace emulated {

struct Dim3 {
  unsigned x = 0, y = 0, z = 0;
};

constexpr unsigned most_threads = 1024, warp = 32, most_shared = 227 * 1024;

struct Thread {
  bool ended = true;
  unsigned exchanges = 0;
  alignas(8) unsigned char values[2][32] = {}; ///< Exchanged values, double-buffered.
};

/// The running block, and its threads' requests. The only implementation is in device.cpp.
class Device {
public:
  Dim3 thread, block, block_size, grid_size;
  unsigned running = 0, count = 0;    ///< The running thread, and the number of threads.
  unsigned left = 0;                  ///< Threads that have not ended.
  unsigned arrived = 0, barriers = 0; ///< Threads at the next barrier, and barriers so far.
  bool copies_at_once = false;        ///< Asynchronous copies complete immediately.
  bool moved = false;                 ///< Whether any thread has made progress since this was cleared.
  Thread threads[most_threads];
  unsigned exchanges[most_threads / warp] = {}; ///< By all threads of each warp.

  /// Runs other threads of the block. `at_barrier`: until the barrier is reached.
  virtual void wait(bool at_barrier) = 0;
  /// Reports that the kernel did something that a device does not allow.
  virtual void refuse(const char* what) = 0;
  /// An asynchronous copy; bytes after the first `read` are zero.
  virtual void copy(void* to, const void* from, unsigned bytes, unsigned read) = 0;
  virtual void end_copies() = 0;
  /// Waits until no more than `rest` groups of copies are pending.
  virtual void wait_for_copies(unsigned rest) = 0;

protected:
  ~Device() = default;
};

/// Per library of kernels; set before any of them runs.
extern Device* device __attribute__((visibility("hidden")));

/// A kernel of a library: how to store its arguments, and how to call it with them, from one thread.
struct KernelRow {
  const char* name;
  unsigned bytes;    ///< Size of the stored arguments, which are aligned to 64.
  uint64_t pointers; ///< Bit mask of arguments that are pointers.
  void (*keep)(void* const* arguments, unsigned char* to);
  void (*call)(const unsigned char* kept);
};

template<typename T>
inline constexpr bool is_pointer = false;
template<typename T>
inline constexpr bool is_pointer<T*> = true;

template<auto kernel>
struct Entry;

template<typename... Parameters, void (*kernel)(Parameters...)>
struct Entry<kernel> {
  template<typename T>
  static constexpr unsigned placed(unsigned behind) {
    return (behind + unsigned{alignof(T)} - 1) / unsigned{alignof(T)} * unsigned{alignof(T)};
  }
  struct Offsets {
    unsigned at[sizeof...(Parameters) + 1] = {}, end = 0;
  };
  static constexpr Offsets offsets() {
    Offsets all;
    unsigned i = 0;
    ((all.at[i++] = all.end = placed<Parameters>(all.end), all.end += unsigned{sizeof(Parameters)}), ...);
    return all;
  }
  static void keep(void* const* arguments, unsigned char* to) {
    unsigned i = 0;
    ((memcpy(to + offsets().at[i], arguments[i], sizeof(Parameters)), ++i), ...);
  }
  template<unsigned... i>
  static void call_with(const unsigned char* kept, std::integer_sequence<unsigned, i...>) {
    kernel(*reinterpret_cast<const Parameters*>(kept + offsets().at[i])...);
  }
  static void call(const unsigned char* kept) {
    call_with(kept, std::make_integer_sequence<unsigned, sizeof...(Parameters)>());
  }
  static constexpr uint64_t pointers() {
    unsigned i = 0;
    uint64_t bits = 0;
    ((bits |= uint64_t{is_pointer<Parameters>} << i++), ...);
    return bits;
  }
  static constexpr KernelRow row(const char* name) { return {name, offsets().end, pointers(), keep, call}; }
};

/// Exchanges a value among the caller's warp; all 32 threads must call it, the same number of times.
template<typename T>
class Exchanged {
public:
  explicit Exchanged(const T& value) {
    static_assert(sizeof(T) <= sizeof(Thread::values[0]));
    Device& d = *device;
    Thread& thread = d.threads[d.running];
    first_ = d.running / warp * warp;
    number_ = thread.exchanges++;
    memcpy(thread.values[number_ % 2], &value, sizeof value);
    d.moved = true;
    const unsigned& all = d.exchanges[d.running / warp];
    ++d.exchanges[d.running / warp];
    while (all < (number_ + 1) * warp) d.wait(false);
  }
  /// Two buffers are enough: no thread can be two exchanges ahead, since it would need this thread's next
  /// value.
  T of(unsigned lane) const {
    T value;
    memcpy(&value, device->threads[first_ + lane].values[number_ % 2], sizeof value);
    return value;
  }

private:
  unsigned first_ = 0, number_ = 0;
};

inline unsigned lane() {
  return device->running % warp;
}

/// The value of the thread at `other`; the caller's own where there is none.
template<typename T>
T exchange(unsigned mask, T value, unsigned other) {
  const Exchanged<T> all(value);
  if (mask != 0xffffffffu) device->refuse("an exchange of a part of a warp");
  return other < warp ? all.of(other) : value;
}

} // namespace emulated

// Keywords and built-ins of CUDA C++.
#define __device__
#define __host__
#ifndef LANNER_LIST_KERNELS // Kernels are listed by this word.
#define __global__
#endif
#define __grid_constant__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define threadIdx emulated::device->thread
#define blockIdx emulated::device->block
#define blockDim emulated::device->block_size
#define gridDim emulated::device->grid_size

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

inline int __float_as_int(float value) {
  int bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline int __float2int_rn(float x) {
  if (x != x) return 0;
  return x >= 2147483648.0F ? INT_MAX : x <= -2147483648.0F ? INT_MIN : static_cast<int>(rintf(x));
}
inline float __int_as_float(int bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}

inline void __syncthreads() {
  emulated::Device& d = *emulated::device;
  const unsigned own = d.barriers;
  ++d.arrived;
  d.moved = true;
  for (;;) {
    if (d.barriers != own) return;
    if (d.arrived >= d.left) {
      d.arrived = 0;
      ++d.barriers;
      d.moved = true;
      return;
    }
    d.wait(true);
  }
}
inline void __syncwarp() {
  const emulated::Exchanged<int> all(0);
}

template<typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance) {
  return emulated::exchange(mask, value, emulated::lane() ^ static_cast<unsigned>(distance));
}
template<typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance) {
  return emulated::exchange(mask, value, emulated::lane() - distance);
}
template<typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
  return emulated::exchange(mask, value, emulated::lane() + distance);
}
inline unsigned __ballot_sync(unsigned mask, bool vote) {
  const emulated::Exchanged<bool> all(vote);
  if (mask != 0xffffffffu) emulated::device->refuse("a vote of a part of a warp");
  unsigned votes = 0;
  for (unsigned lane = 0; lane < emulated::warp; ++lane) votes |= unsigned{all.of(lane)} << lane;
  return votes;
}

// Threads run one at a time, and switch only where they wait.
template<typename T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at += value;
  return before;
}
template<typename T>
T atomicMin(T* at, T value) {
  const T before = *at;
  if (value < before) *at = value;
  return before;
}
