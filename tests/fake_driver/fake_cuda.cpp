#include "fake_driver/fake_cuda.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cuda/driver_api.h"
#include "emulated_gpu/tensor_boxes.h"
#include "fake_driver/fake_kernels.h"
#include "fake_driver/fake_world.h"

using namespace lanner::fake;

#define LANNER_FAKE_ENTER(name)                                                                              \
  if (const int status = enter(name); status != success) return status

namespace {

/// Whether the pointer is in memory allocated by the driver.
bool is_pinned(const void* memory) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  const auto behind = w.memory.upper_bound(memory);
  if (behind == w.memory.begin()) return false;
  const auto& [first, block] = *std::prev(behind);
  return static_cast<const char*>(memory) < static_cast<const char*>(first) + block.bytes;
}

} // namespace

// --- Queries and controls for tests ---

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
const char* fake_cuda_edges() {
  const std::lock_guard lock(world().mutex);
  world().shown = world().edges;
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
std::size_t fake_cuda_most_device_bytes() {
  const std::lock_guard lock(world().mutex);
  return std::exchange(world().most_on_devices, world().on_devices);
}
std::size_t fake_cuda_bytes_at(const void* pointer, void* context) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  const auto behind = w.memory.upper_bound(pointer);
  if (behind == w.memory.begin()) return 0;
  const auto& [first, block] = *std::prev(behind);
  const auto before =
      static_cast<std::size_t>(static_cast<const char*>(pointer) - static_cast<const char*>(first));
  if (before >= block.bytes || block.device != std::max(device_of(context), 0)) return 0;
  return block.bytes - before;
}
int fake_cuda_contexts() {
  return static_cast<int>(contexts.size());
}
void fake_cuda_limit(std::size_t bytes) {
  const std::lock_guard lock(world().mutex);
  world().limit = bytes;
}
int fake_cuda_queue(void* stream, const std::function<void()>& work) {
  LANNER_FAKE_ENTER("cuLaunchKernel");
  return queue(stream, work, queues().kernel_seconds());
}
int fake_cuda_queue_at(void* stream, const void* const* pointers, std::size_t count,
                       const std::function<void()>& work) {
  for (std::size_t i = 0; i < count; ++i)
    if (!reaches(pointers[i])) return illegal_address;
  return fake_cuda_queue(stream, work);
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
void fake_cuda_reverse_threads(bool reversed) {
  world().reversed = reversed;
}

// --- The driver ---

int cuInit(unsigned) {
  return success;
}
int cuDriverGetVersion(int* version) {
  const char* const told = std::getenv("LANNER_FAKE_DRIVER_VERSION");
  *version = told ? std::atoi(told) : 13000;
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
  *count = gpus();
  return success;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < gpus() ? success : invalid_device;
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
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = context_of(device);
  return success;
}
int cuCtxPushCurrent_v2(void* context) {
  if (!context) return invalid_value;
  contexts.push_back(
      std::max(device_of(context), 0)); // a context created by the caller belongs to the first device
  return success;
}
int cuCtxPopCurrent_v2(void** context) {
  contexts.pop_back();
  *context = nullptr;
  return success;
}
int cuDeviceCanAccessPeer(int* can, int device, int other) {
  *can = device != other;
  return success;
}
int cuCtxEnablePeerAccess(void*, unsigned) {
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
  return allocate(memory, bytes, true);
}
int cuMemFreeHost(void* memory) {
  return release(memory);
}

int cuMemcpyAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpyAsync");
  if (!reaches(to) || !reaches(from)) return illegal_address;
  return queue(stream,
               [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
int cuMemcpyPeerAsync(std::uint64_t to, void* to_context, std::uint64_t from, void* from_context,
                      std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpyPeerAsync");
  const auto lies_in = [](std::uint64_t pointer, void* context) {
    return owner(pointer) < 0 || owner(pointer) == device_of(context);
  };
  if (!lies_in(to, to_context) || !lies_in(from, from_context)) return illegal_address;
  return queue(stream,
               [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpyHtoDAsync");
  if (!reaches(to)) return illegal_address;
  if (is_pinned(from)) return queue(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  // Pageable host memory is read before the call returns.
  const auto* first = static_cast<const std::byte*>(from);
  return queue(stream, [to, staged = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
  });
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  LANNER_FAKE_ENTER("cuMemcpyDtoHAsync");
  if (!reaches(from)) return illegal_address;
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
  if (!reaches(to)) return illegal_address;
  return queue(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
int cuPointerGetAttribute(void* value, int attribute, std::uint64_t place) {
  constexpr int device_ordinal = 9;
  const int device = owner(place);
  if (attribute != device_ordinal || device < 0) return invalid_value;
  *static_cast<int*>(value) = device;
  return success;
}

int cuStreamCreate(Stream** stream, unsigned) {
  LANNER_FAKE_ENTER("cuStreamCreate");
  return make(stream);
}
int cuStreamDestroy_v2(Stream* stream) {
  queues().run(*stream);
  return drop(stream);
}
int cuStreamSynchronize(Stream* stream) {
  LANNER_FAKE_ENTER("cuStreamSynchronize");
  return real(stream).capture ? Queues::capture_invalid : queues().run(real(stream));
}
int cuProfilerStart() {
  LANNER_FAKE_ENTER("cuProfilerStart");
  return success;
}
int cuProfilerStop() {
  LANNER_FAKE_ENTER("cuProfilerStop");
  return success;
}
int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  LANNER_FAKE_ENTER("cuStreamWaitEvent");
  return queues().wait(real(stream), *event);
}
int cuStreamBeginCapture_v2(Stream* stream, int) {
  LANNER_FAKE_ENTER("cuStreamBeginCapture");
  return queues().begin_capture(real(stream));
}
int cuStreamEndCapture(Stream* stream, Graph** graph) {
  *graph = nullptr;
  std::vector<Recorded> nodes;
  if (const int status = queues().end_capture(real(stream), nodes); status != success) return status;
  LANNER_FAKE_ENTER("cuStreamEndCapture");
  make(graph);
  (*graph)->nodes = std::move(nodes);
  (*graph)->device = real(stream).device;
  for (std::size_t to = 0; to < (*graph)->nodes.size(); ++to) {
    const std::vector<std::size_t>& behind = (*graph)->nodes[to].behind;
    for (const std::size_t from : std::set(behind.begin(), behind.end()))
      (*graph)->edges.push_back({from, to, {}});
  }
  return success;
}

int cuGraphGetEdges_v2(Graph* graph, Recorded** from, Recorded** to, lanner::cuda::GraphEdge* data,
                       std::size_t* count) {
  LANNER_FAKE_ENTER("cuGraphGetEdges");
  if (from && *count < graph->edges.size()) return invalid_value;
  *count = graph->edges.size();
  for (std::size_t i = 0; from && i < graph->edges.size(); ++i) {
    from[i] = &graph->nodes[graph->edges[i].from];
    to[i] = &graph->nodes[graph->edges[i].to];
    data[i] = graph->edges[i].data;
  }
  return success;
}
int cuGraphAddDependencies_v2(Graph* graph, Recorded** from, Recorded** to,
                              const lanner::cuda::GraphEdge* data, std::size_t count) {
  LANNER_FAKE_ENTER("cuGraphAddDependencies");
  for (std::size_t i = 0; i < count; ++i) {
    // Ports and types other than zero are for kernels alone.
    if ((data[i].type != 0 || data[i].from_port != 0) && !(from[i]->kernel && to[i]->kernel))
      return invalid_value;
    graph->edges.push_back({static_cast<std::size_t>(from[i] - graph->nodes.data()),
                            static_cast<std::size_t>(to[i] - graph->nodes.data()), data[i]});
  }
  return success;
}
int cuGraphRemoveDependencies_v2(Graph* graph, Recorded** from, Recorded** to,
                                 const lanner::cuda::GraphEdge* data, std::size_t count) {
  LANNER_FAKE_ENTER("cuGraphRemoveDependencies");
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = std::ranges::find_if(graph->edges, [&](const Edge& edge) {
      return &graph->nodes[edge.from] == from[i] && &graph->nodes[edge.to] == to[i] &&
             edge.data.type == data[i].type && edge.data.from_port == data[i].from_port;
    });
    if (found == graph->edges.end()) return invalid_value;
    graph->edges.erase(found);
  }
  return success;
}
int cuGraphNodeGetType(Recorded* node, int* type) {
  LANNER_FAKE_ENTER("cuGraphNodeGetType");
  constexpr int host = 3;
  *type = node->kernel ? lanner::cuda::graph_node_kernel : host;
  return success;
}
int cuGraphKernelNodeGetParams_v2(Recorded* node, lanner::cuda::GraphKernelNode* kernel) {
  LANNER_FAKE_ENTER("cuGraphKernelNodeGetParams");
  if (!node->kernel) return invalid_value;
  kernel->function = reinterpret_cast<lanner::cuda::FunctionHandle>(node->kernel);
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
  if (event->device != real(stream).device) return invalid_handle;
  queues().record(*event, real(stream));
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
  (*made)->device = graph->device;
  const auto name = [&](std::size_t node) {
    return graph->nodes[node].kernel ? graph->nodes[node].kernel->name : std::string("-");
  };
  const std::lock_guard lock(world().mutex);
  world().edges.clear();
  for (const Edge& edge : graph->edges)
    world().edges += name(edge.from) + (edge.data.type != 0 ? ">>" : ">") + name(edge.to) + "\n";
  return success;
}
int cuGraphLaunch(Graph* graph, Stream* stream) {
  LANNER_FAKE_ENTER("cuGraphLaunch");
  if (contexts.empty() || real(stream).device != contexts.back() || graph->device != real(stream).device)
    return invalid_handle;
  queues().launch(graph->nodes, real(stream));
  return success;
}
int cuGraphDestroy(Graph* graph) {
  return drop(graph);
}
int cuGraphExecDestroy(Graph* graph) {
  return drop(graph);
}

int cuModuleLoadData(Module** module, const void* image) {
  LANNER_FAKE_ENTER("cuModuleLoadData");
  if (contexts.empty()) return not_in_context;
  *module = load_module(image, contexts.back());
  return success;
}
int cuModuleUnload(Module*) {
  return success; // queued launches may still need it
}
int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  LANNER_FAKE_ENTER("cuModuleGetFunction");
  *function = find_function(*module, name);
  return *function ? success : not_found;
}
int cuFuncSetAttribute(Function*, int, int) {
  return success;
}
int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* memory, const std::uint64_t* dims,
                           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                           int, int swizzle, int, int) {
  LANNER_FAKE_ENTER("cuTensorMapEncodeTiled");
  const bool taken = emulated::encode_tiled(map, {type, rank, memory, dims, strides, steps, swizzle}, box);
  return taken ? success : invalid_value;
}
int cuTensorMapEncodeIm2col(void* map, int type, unsigned rank, void* memory, const std::uint64_t* dims,
                            const std::uint64_t* strides, const int* lower, const int* upper,
                            std::uint32_t channels, std::uint32_t positions, const std::uint32_t* steps, int,
                            int swizzle, int, int) {
  LANNER_FAKE_ENTER("cuTensorMapEncodeIm2col");
  const bool taken = emulated::encode_images(map, {type, rank, memory, dims, strides, steps, swizzle}, lower,
                                             upper, channels, positions);
  return taken ? success : invalid_value;
}
int cuLaunchKernel(Function* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                   unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                   Stream* stream, void** arguments, void**) {
  LANNER_FAKE_ENTER("cuLaunchKernel");
  if (function->module->device != real(stream).device) return invalid_handle;
  emulated::Launch launch;
  launch.blocks = {blocks_x, blocks_y, blocks_z};
  launch.threads = {threads_x, threads_y, threads_z};
  launch.shared_bytes = shared_bytes;
  Work work;
  if (const int status = bind_launch(*function, launch, arguments, work); status != success) return status;
  return queue(stream, std::move(work), queues().kernel_seconds(), function);
}
}
