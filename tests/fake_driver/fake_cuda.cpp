#include "fake_driver/fake_cuda.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/box_kernel.h"
#include "device/cuda/driver_api.h"
#include "fake_driver/fake_queues.h"
#include "fake_driver/image_kernels.h"
#include "fake_driver/index_kernels.h"

namespace {

constexpr int success = 0, invalid_value = 1, out_of_memory = 2, not_in_context = 201;

using lanner::fake::Event, lanner::fake::Queues, lanner::fake::Recorded, lanner::fake::Stream;
using lanner::fake::Work;

struct Graph {
  std::vector<Recorded> nodes;
};
struct Function {
  std::string name;
};

struct World {
  std::mutex mutex;
  std::size_t calls = 0, fail_at = 0;
  int fail_with = 0;
  std::string log, shown;
  std::map<void*, std::size_t> memory;
  std::size_t bytes = 0, limit = SIZE_MAX, objects = 0;
  std::map<std::string, Function> functions;
  double clock = 0;
};

World& world() {
  static auto* made = new World;
  return *made;
}

Queues& queues() {
  static auto* made = new Queues;
  return *made;
}

thread_local int contexts = 0;

/// Counts a call; gives the status that a test asked for.
int enter(const char* name) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  ++w.calls;
  w.log += name;
  w.log += '\n';
  if (w.fail_at == 0) return success;
  --w.fail_at;
  if (w.fail_at > 0) return success;
  return w.fail_with;
}

#define LANNER_FAKE_ENTER(name)                                                                              \
  if (const int status = enter(name); status != success) return status

int queue(void* stream, Work work, double seconds = 0) {
  if (contexts == 0) return not_in_context;
  queues().queue(static_cast<Stream*>(stream), std::move(work), seconds);
  return success;
}

int allocate(void** memory, std::size_t bytes) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  if (contexts == 0) return not_in_context;
  if (bytes == 0) return invalid_value;
  if (w.bytes + bytes > w.limit) return out_of_memory;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  w.memory[*memory] = bytes;
  w.bytes += bytes;
  return success;
}

int release(void* memory) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  const auto found = w.memory.find(memory);
  if (found == w.memory.end()) return invalid_value;
  w.bytes -= found->second;
  w.memory.erase(found);
  std::free(memory);
  return success;
}

/// Whether it lies in memory that the driver gave.
bool is_pinned(const void* memory) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  const auto behind = w.memory.upper_bound(const_cast<void*>(memory));
  if (behind == w.memory.begin()) return false;
  const auto& [first, bytes] = *std::prev(behind);
  return static_cast<const char*>(memory) < static_cast<const char*>(first) + bytes;
}

template<typename T>
int make(T** object) {
  *object = new T;
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

// --- Kernels that a host can stand for ---

template<typename T>
void copy_box(void** arguments) {
  const T* source = *static_cast<const T**>(arguments[0]);
  T* target = *static_cast<T**>(arguments[1]);
  const auto& box = *static_cast<const lanner::cuda::BoxParameters*>(arguments[2]);
  for (std::int64_t i = 0; i < box.elements; ++i) {
    std::int64_t rest = i, from = 0, to = 0;
    for (int axis = box.rank - 1; axis >= 0; --axis) {
      from += rest % box.sizes[axis] * box.source[axis];
      to += rest % box.sizes[axis] * box.target[axis];
      rest /= box.sizes[axis];
    }
    target[to] = source[from];
  }
}

/// A recorded launch keeps its arguments, as a graph does.
Work kernel_work(const std::string& name, void** arguments, unsigned layers) {
  const auto box_copy = [&](auto run) -> Work {
    void *source = *static_cast<void**>(arguments[0]), *target = *static_cast<void**>(arguments[1]);
    const auto box = *static_cast<const lanner::cuda::BoxParameters*>(arguments[2]);
    return [source, target, box = lanner::cuda::BoxParameters(box), run]() mutable {
      void* list[] = {&source, &target, &box};
      run(list);
    };
  };
  if (name == "copy_box_1") return box_copy(copy_box<std::uint8_t>);
  if (name == "copy_box_2") return box_copy(copy_box<std::uint16_t>);
  if (name == "copy_box_4") return box_copy(copy_box<std::uint32_t>);
  if (name == "copy_box_8") return box_copy(copy_box<std::uint64_t>);
  if (Work work = lanner::fake::index_kernel(name, arguments)) return work;
  if (Work work = lanner::fake::image_kernel(name, arguments, layers)) return work;
  return [] {}; // other arithmetic is for real GPUs
}

} // namespace

// --- What tests ask ---

extern "C" {

std::size_t fake_cuda_calls() {
  const std::lock_guard lock(world().mutex);
  return world().calls;
}
void fake_cuda_fail(std::size_t number, int status) {
  const std::lock_guard lock(world().mutex);
  world().fail_at = number;
  world().fail_with = status;
}
const char* fake_cuda_log() {
  const std::lock_guard lock(world().mutex);
  world().shown = world().log;
  return world().shown.c_str();
}
void fake_cuda_forget() {
  const std::lock_guard lock(world().mutex);
  world().log.clear();
}
std::size_t fake_cuda_memory() {
  const std::lock_guard lock(world().mutex);
  return world().memory.size();
}
std::size_t fake_cuda_objects() {
  const std::lock_guard lock(world().mutex);
  return world().objects;
}
int fake_cuda_contexts() {
  return contexts;
}
void fake_cuda_limit(std::size_t bytes) {
  const std::lock_guard lock(world().mutex);
  world().limit = bytes;
}
int fake_cuda_queue(void* stream, const std::function<void()>& work) {
  LANNER_FAKE_ENTER("cuLaunchKernel");
  return queue(stream, work, queues().kernel_seconds());
}
void fake_cuda_defer(unsigned seed) {
  queues().defer(seed);
}
void fake_cuda_ignore_waits(bool ignored) {
  queues().ignore_waits(ignored);
}
void fake_cuda_kernel_seconds(double seconds) {
  queues().set_kernel_seconds(seconds);
}

// --- The driver ---

int cuInit(unsigned) {
  return success;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
int cuGetErrorName(int status, const char** text) {
  *text = status == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return success;
}
int cuGetErrorString(int, const char** text) {
  *text = "asked for by a test";
  return success;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return success;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? success : invalid_value;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{1} << 30;
  return success;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : attribute == 16 ? 4 : 0;
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  static int only;
  *context = &only;
  return success;
}
int cuCtxPushCurrent_v2(void* context) {
  ++contexts;
  return context ? success : invalid_value;
}
int cuCtxPopCurrent_v2(void** context) {
  --contexts;
  *context = nullptr;
  return success;
}

int cuMemAlloc_v2(std::uint64_t* memory, std::size_t bytes) {
  LANNER_FAKE_ENTER("cuMemAlloc");
  void* made = nullptr;
  const int status = allocate(&made, bytes);
  *memory = reinterpret_cast<std::uint64_t>(made);
  return status;
}
int cuMemFree_v2(std::uint64_t memory) {
  queues().run_all(); // the driver waits for the device
  return release(reinterpret_cast<void*>(memory));
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 30;
  return success;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  LANNER_FAKE_ENTER("cuMemHostAlloc");
  return allocate(memory, bytes);
}
int cuMemFreeHost(void* memory) {
  return release(memory);
}

int cuMemcpyAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpyAsync");
  return queue(stream,
               [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpyHtoDAsync");
  if (is_pinned(from)) return queue(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  // Other memory of the host is read before the call returns.
  const auto* first = static_cast<const std::byte*>(from);
  return queue(stream, [to, staged = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
  });
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpyDtoHAsync");
  return queue(stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}
int cuMemcpy2DAsync_v2(const lanner::cuda::CopyRows* rows, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpy2DAsync");
  return queue(stream, [copy = *rows] {
    const auto* from = copy.from_type == lanner::cuda::memory_host
                           ? static_cast<const char*>(copy.from_host)
                           : reinterpret_cast<const char*>(copy.from_device);
    auto* to = copy.to_type == lanner::cuda::memory_host ? static_cast<char*>(copy.to_host)
                                                         : reinterpret_cast<char*>(copy.to_device);
    for (std::size_t y = 0; y < copy.rows; ++y)
      std::memcpy(to + (copy.to_y + y) * copy.to_pitch + copy.to_x,
                  from + (copy.from_y + y) * copy.from_pitch + copy.from_x, copy.row_bytes);
  });
}
int cuMemAllocAsync(std::uint64_t* memory, std::size_t bytes, void*) {
  LANNER_FAKE_ENTER("cuMemAllocAsync");
  void* made = nullptr;
  const int status = allocate(&made, bytes);
  *memory = reinterpret_cast<std::uint64_t>(made);
  return status;
}
int cuMemFreeAsync(std::uint64_t memory, void* stream) {
  return queue(stream, [=] { release(reinterpret_cast<void*>(memory)); });
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemsetD8Async");
  return queue(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
int cuPointerGetAttribute(void*, int, std::uint64_t) {
  return invalid_value;
}

int cuStreamCreate(Stream** stream, unsigned) {
  LANNER_FAKE_ENTER("cuStreamCreate");
  return make(stream);
}
int cuStreamDestroy_v2(Stream* stream) {
  queues().run(stream);
  return drop(stream);
}
int cuStreamSynchronize(Stream* stream) {
  LANNER_FAKE_ENTER("cuStreamSynchronize");
  return stream && stream->capture ? Queues::capture_invalid : queues().run(stream);
}
int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  LANNER_FAKE_ENTER("cuStreamWaitEvent");
  return queues().wait(stream, *event);
}
int cuStreamBeginCapture_v2(Stream* stream, int) {
  LANNER_FAKE_ENTER("cuStreamBeginCapture");
  return queues().begin_capture(stream);
}
int cuStreamEndCapture(Stream* stream, Graph** graph) {
  *graph = nullptr;
  std::vector<Recorded> nodes;
  if (const int status = queues().end_capture(stream, nodes); status != success) return status;
  LANNER_FAKE_ENTER("cuStreamEndCapture");
  make(graph);
  (*graph)->nodes = std::move(nodes);
  return success;
}

int cuEventCreate(Event** event, unsigned) {
  LANNER_FAKE_ENTER("cuEventCreate");
  return make(event);
}
int cuEventDestroy_v2(Event* event) {
  return drop(event);
}
int cuEventRecord(Event* event, Stream* stream) {
  LANNER_FAKE_ENTER("cuEventRecord");
  queues().record(*event, stream);
  const std::lock_guard lock(world().mutex);
  event->time = (world().clock += 0.01) + 1000 * event->mark->time;
  return success;
}
int cuEventQuery(Event*) {
  LANNER_FAKE_ENTER("cuEventQuery");
  return success;
}
int cuEventSynchronize(Event* event) {
  LANNER_FAKE_ENTER("cuEventSynchronize");
  return queues().run(*event);
}
int cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
  LANNER_FAKE_ENTER("cuEventElapsedTime");
  *milliseconds = static_cast<float>(to->time - from->time);
  return success;
}

int cuGraphInstantiateWithFlags(Graph** made, Graph* graph, unsigned long long) {
  LANNER_FAKE_ENTER("cuGraphInstantiate");
  make(made);
  (*made)->nodes = graph->nodes;
  return success;
}
int cuGraphLaunch(Graph* graph, Stream* stream) {
  LANNER_FAKE_ENTER("cuGraphLaunch");
  queues().launch(graph->nodes, stream);
  return success;
}
int cuGraphDestroy(Graph* graph) {
  return drop(graph);
}
int cuGraphExecDestroy(Graph* graph) {
  return drop(graph);
}

int cuModuleLoadData(void** module, const void* image) {
  LANNER_FAKE_ENTER("cuModuleLoadData");
  *module = const_cast<void*>(image);
  return success;
}
int cuModuleUnload(void*) {
  return success;
}
int cuModuleGetFunction(Function** function, void*, const char* name) {
  LANNER_FAKE_ENTER("cuModuleGetFunction");
  const std::lock_guard lock(world().mutex);
  *function = &world().functions[name];
  (*function)->name = name;
  return success;
}
int cuFuncSetAttribute(Function*, int, int) {
  return success;
}
int cuLaunchKernel(Function* function, unsigned, unsigned, unsigned layers, unsigned, unsigned, unsigned,
                   unsigned, void* stream, void** arguments, void**) {
  LANNER_FAKE_ENTER("cuLaunchKernel");
  return queue(stream, kernel_work(function->name, arguments, layers), queues().kernel_seconds());
}
}
