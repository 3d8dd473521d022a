#pragma once
// State of the fake driver: devices, memory, objects, and the record of calls.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/driver_api.h"
#include "fake_driver/fake_queues.h"

namespace lanner::fake {

inline constexpr int success = 0, invalid_value = 1, out_of_memory = 2, invalid_device = 101,
                     not_in_context = 201, invalid_handle = 400, not_found = 500, illegal_address = 700,
                     launch_failed = 719, no_binary = 209;
inline constexpr int max_gpus = 8;

/// What node `to` waits for in node `from`.
struct Edge {
  std::size_t from, to;
  cuda::GraphEdge data;
};
struct Graph {
  std::vector<Recorded> nodes;
  std::vector<Edge> edges;
  int device = 0;
};
struct Module;
struct Block {
  std::size_t bytes;
  int device; ///< -1: pinned host memory.
};

struct World {
  std::mutex mutex;
  std::size_t calls = 0, fail_at = 0;
  int fail_with = 0;
  std::string log, shown, edges;
  std::map<const void*, Block> memory;
  std::size_t bytes = 0, limit = SIZE_MAX, objects = 0;
  std::size_t on_devices = 0, most_on_devices = 0;
  std::atomic<bool> reversed = false;
  std::atomic<int> fault =
      success; ///< Error of a kernel: sticky, every later call returns it, as with a real driver.
  std::array<Stream, max_gpus> legacy{};
  double clock = 0;

  World() {
    for (int d = 0; d < max_gpus; ++d) {
      legacy[static_cast<std::size_t>(d)].device = d;
      legacy[static_cast<std::size_t>(d)].legacy = true;
    }
  }
};

inline World& world() {
  static auto* made = new World;
  return *made;
}

inline Queues& queues() {
  static auto* made = new Queues;
  return *made;
}

/// Devices of the contexts that a thread has pushed. Trivially destructible, since memory is freed during
/// process exit.
struct Contexts {
  std::array<int, 64> devices;
  std::size_t depth;
  bool empty() const { return depth == 0; }
  int back() const { return devices[depth - 1]; }
  std::size_t size() const { return depth; }
  void push_back(int device) { devices.at(depth++) = device; }
  void pop_back() { --depth; }
};
inline thread_local Contexts contexts{};

inline int gpus() {
  static const int number = [] {
    const char* text = std::getenv("LANNER_FAKE_GPUS");
    return text ? std::clamp(std::atoi(text), 1, max_gpus) : 1;
  }();
  return number;
}

/// A context is its device's number, as a pointer that is not null.
inline void* context_of(int device) {
  static std::array<char, max_gpus> all;
  return &all[static_cast<std::size_t>(device)];
}
inline int device_of(void* context) {
  for (int device = 0; device < gpus(); ++device)
    if (context_of(device) == context) return device;
  return -1;
}

/// The current context's default stream; one per device.
inline Stream& real(Stream* stream) {
  return stream ? *stream : world().legacy[static_cast<std::size_t>(contexts.empty() ? 0 : contexts.back())];
}

/// Device of the memory that a pointer belongs to; -1: unknown.
inline int owner(const void* pointer) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  auto found = w.memory.upper_bound(pointer);
  if (found == w.memory.begin()) return -1;
  --found;
  const auto* first = static_cast<const char*>(found->first);
  return static_cast<const char*>(pointer) < first + found->second.bytes ? found->second.device : -1;
}
inline int owner(std::uint64_t pointer) {
  return owner(reinterpret_cast<const void*>(pointer));
}

/// Whether work queued for the current device may use this object.
template<typename Pointer>
bool reaches(Pointer pointer) {
  const int device = owner(pointer);
  return device < 0 || contexts.empty() || device == contexts.back();
}

/// Counts a call; returns the status that a test selected.
inline int enter(const char* name) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  ++w.calls;
  w.log += name;
  w.log += '\n';
  if (w.fault != success) return w.fault;
  if (w.fail_at == 0) return success;
  --w.fail_at;
  if (w.fail_at > 0) return success;
  return w.fail_with;
}

inline int queue(void* stream, Work work, double seconds = 0, Function* kernel = nullptr) {
  if (contexts.empty()) return not_in_context;
  Stream& own = real(static_cast<Stream*>(stream));
  if (own.device != contexts.back()) return invalid_handle;
  queues().queue(own, std::move(work), seconds, kernel);
  return success;
}

inline int allocate(void** memory, std::size_t bytes, bool pinned = false) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  if (contexts.empty()) return not_in_context;
  if (bytes == 0) return invalid_value;
  if (w.bytes + bytes > w.limit) return out_of_memory;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  w.memory[*memory] = {bytes, pinned ? -1 : contexts.back()};
  w.bytes += bytes;
  if (!pinned) w.most_on_devices = std::max(w.most_on_devices, w.on_devices += bytes);
  return success;
}

inline int release(void* memory) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  const auto found = w.memory.find(memory);
  if (found == w.memory.end()) return invalid_value;
  w.bytes -= found->second.bytes;
  if (found->second.device >= 0) w.on_devices -= found->second.bytes;
  w.memory.erase(found);
  std::free(memory);
  return success;
}

template<typename T>
int make(T** object) {
  *object = new T;
  if constexpr (requires { (*object)->device; }) (*object)->device = contexts.empty() ? 0 : contexts.back();
  const std::lock_guard lock(world().mutex);
  ++world().objects;
  return success;
}

template<typename T>
int drop(T* object) {
  delete object;
  const std::lock_guard lock(world().mutex);
  --world().objects;
  return success;
}

} // namespace lanner::fake
