#include "device/cuda/gpu.h"

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "device/cuda/code.h"

namespace lanner::cuda {
namespace {

/// Runs a destroy function in its context. A driver that is gone, as when the process ends, has freed
/// everything itself.
template<typename Body>
void release(ContextHandle context, Body&& body) noexcept {
  try {
    const Current current(context);
    static_cast<void>(body());
  } catch (const Error&) {
  }
}

} // namespace

Gpu::Gpu(Device device) : device_(device) {
  const Driver& d = driver();
  int handle = 0;
  check(d.device_get(&handle, device.index), "cuDeviceGet");
  std::array<char, 256> name{};
  check(d.device_name(name.data(), static_cast<int>(name.size()) - 1, handle), "cuDeviceGetName");
  name_ = name.data();
  int major = 0, minor = 0;
  check(d.device_attribute(&major, attribute_capability_major, handle), "cuDeviceGetAttribute");
  check(d.device_attribute(&minor, attribute_capability_minor, handle), "cuDeviceGetAttribute");
  check(d.device_attribute(&multiprocessors_, attribute_multiprocessors, handle), "cuDeviceGetAttribute");
  capability_ = 10 * major + minor;
  check(d.context_retain(&context_, handle), "cuDevicePrimaryCtxRetain");
}

const Gpu& Gpu::get(Device device) {
  const DriverStatus& status = driver_status();
  with_context([&] { return device.to_string(); }, [] { static_cast<void>(driver()); });
  lanner::check(device.kind == DeviceKind::cuda && device.index >= 0 &&
                        device.index<status.devices, ErrorCode::invalid_argument, "{} does not exist: {}",
                                     device.to_string(), status.devices> 0
                    ? fmt::format("the driver lists {} GPUs", status.devices)
                    : status.reason);
  // Leaked on purpose: memory is given back while static objects are destroyed.
  static std::mutex mutex;
  static auto* opened = new std::map<int, std::unique_ptr<Gpu>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Gpu>& gpu = (*opened)[device.index];
  if (!gpu) gpu.reset(new Gpu(device));
  return *gpu;
}

/// Enables peer access, once for each pair and direction. A refusal, as where a framework has enabled it
/// before, costs speed at most.
static void reach(const Gpu& gpu, const Gpu& other) {
  static std::mutex mutex;
  static auto* asked = new std::set<std::pair<Device, Device>>;
  const std::lock_guard lock(mutex);
  if (!asked->emplace(gpu.device(), other.device()).second) return;
  int own = 0, far = 0, can = 0;
  const Driver& d = driver();
  if (d.device_get(&own, gpu.device().index) != success ||
      d.device_get(&far, other.device().index) != success || d.can_reach(&can, own, far) != success || !can)
    return;
  const Current current(gpu);
  static_cast<void>(d.enable_reach(other.context(), 0));
}

void copy_between(DevicePointer to, const Gpu& at, DevicePointer from, const Gpu& there, std::size_t bytes,
                  StreamHandle stream) {
  reach(at, there);
  reach(there, at);
  check(driver().copy_between(to, at.context(), from, there.context(), bytes, stream), "cuMemcpyPeerAsync");
}

OwnedStream::OwnedStream(ContextHandle context) : context_(context) {
  const Current current(context);
  check(driver().stream_create(&handle_, stream_non_blocking), "cuStreamCreate");
}
OwnedStream::~OwnedStream() {
  release(context_, [&] { return driver().stream_destroy(handle_); });
}
void OwnedStream::synchronize() const {
  check(driver().stream_synchronize(handle_), "cuStreamSynchronize");
}

Event::Event(ContextHandle context, bool timed) : context_(context) {
  const Current current(context);
  check(driver().event_create(&handle_, timed ? event_default : event_disable_timing), "cuEventCreate");
}
Event::~Event() {
  release(context_, [&] { return driver().event_destroy(handle_); });
}
void Event::record(StreamHandle stream) {
  check(driver().event_record(handle_, stream), "cuEventRecord");
}
void Event::wait(StreamHandle stream) const {
  check(driver().stream_wait_event(stream, handle_, 0), "cuStreamWaitEvent");
}
void Event::synchronize() const {
  check(driver().event_synchronize(handle_), "cuEventSynchronize");
}
double Event::seconds(const Event& from, const Event& to) {
  float milliseconds = 0;
  check(driver().event_elapsed(&milliseconds, from.handle_, to.handle_), "cuEventElapsedTime");
  return milliseconds * 1e-3;
}

// Counts threads that queue and record. Leaked on purpose: contexts may run while static objects are
// destroyed.
struct RecordingGate {
  std::mutex mutex;
  std::condition_variable changed;
  int queueing = 0, waiting = 0;
  bool recording = false;

  static RecordingGate& get() {
    static auto* made = new RecordingGate;
    return *made;
  }
  void enter() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !recording && waiting == 0; });
    ++queueing;
  }
  void leave() {
    {
      const std::lock_guard lock(mutex);
      --queueing;
    }
    changed.notify_all();
  }
};
static thread_local int queueing_depth = 0;

Queueing::Queueing(Device device) : active_(!device.is_host()) {
  if (active_ && queueing_depth++ == 0) RecordingGate::get().enter();
}
Queueing::~Queueing() {
  if (active_ && --queueing_depth == 0) RecordingGate::get().leave();
}

GraphExec::Alone::Alone() {
  RecordingGate& gate = RecordingGate::get();
  std::unique_lock lock(gate.mutex);
  if (queueing_depth > 0) --gate.queueing;
  ++gate.waiting;
  gate.changed.wait(lock, [&] { return !gate.recording && gate.queueing == 0; });
  --gate.waiting;
  gate.recording = true;
}
GraphExec::Alone::~Alone() {
  RecordingGate& gate = RecordingGate::get();
  {
    const std::lock_guard lock(gate.mutex);
    gate.recording = false;
    if (queueing_depth > 0) ++gate.queueing;
  }
  gate.changed.notify_all();
}

void GraphExec::begin(const Gpu&, const OwnedStream& stream) {
  check(driver().stream_begin_capture(stream.handle(), capture_relaxed), "cuStreamBeginCapture");
}

void GraphExec::abandon(const Gpu&, const OwnedStream& stream) noexcept {
  GraphHandle graph = nullptr;
  static_cast<void>(driver().stream_end_capture(stream.handle(), &graph));
  if (graph) static_cast<void>(driver().graph_destroy(graph));
}

bool GraphExec::keeps_order() {
  return driver().graph_edges != nullptr;
}

/// The kernel of a node, null for nodes of other kinds.
static FunctionHandle kernel_of(GraphNodeHandle node) {
  int type = 0;
  check(driver().graph_node_type(node, &type), "cuGraphNodeGetType");
  if (type != graph_node_kernel) return nullptr;
  GraphKernelNode kernel;
  check(driver().graph_kernel_node(node, &kernel), "cuGraphKernelNodeGetParams");
  return kernel.function;
}

/// What `to` waits for in `from`: Note [Early starts] in order.h.
static GraphEdge edge_between(GraphNodeHandle from, GraphNodeHandle to) {
  if (!starts_early(kernel_of(to)) || !kernel_of(from)) return {};
  return {.from_port = edge_port_programmatic, .to_port = 0, .type = edge_type_programmatic};
}

/// Replaces edges of `graph`, so that kernels of libraries start after the end of earlier ones, and own ones
/// before it.
static void order(GraphHandle graph) {
  std::size_t count = 0;
  check(driver().graph_edges(graph, nullptr, nullptr, nullptr, &count), "cuGraphGetEdges");
  std::vector<GraphNodeHandle> from(count), to(count);
  std::vector<GraphEdge> edges(count);
  if (count == 0) return;
  check(driver().graph_edges(graph, from.data(), to.data(), edges.data(), &count), "cuGraphGetEdges");
  for (std::size_t i = 0; i < count; ++i) {
    const GraphEdge wanted = edge_between(from[i], to[i]);
    if (edges[i].type == wanted.type && edges[i].from_port == wanted.from_port) continue;
    check(driver().graph_remove_edges(graph, &from[i], &to[i], &edges[i], 1), "cuGraphRemoveDependencies");
    check(driver().graph_add_edges(graph, &from[i], &to[i], &wanted, 1), "cuGraphAddDependencies");
  }
}

std::unique_ptr<GraphExec> GraphExec::end(const Gpu& gpu, const OwnedStream& stream) {
  GraphHandle graph = nullptr;
  check(driver().stream_end_capture(stream.handle(), &graph), "cuStreamEndCapture");
  const std::unique_ptr<GraphTag, void (*)(GraphHandle)> held(
      graph, [](GraphHandle done) { static_cast<void>(driver().graph_destroy(done)); });
  if (keeps_order()) order(graph);
  GraphExecHandle made = nullptr;
  check(driver().graph_instantiate(&made, graph, 0), "cuGraphInstantiate");
  return std::unique_ptr<GraphExec>(new GraphExec(gpu, made));
}

GraphExec::~GraphExec() {
  release(gpu_.context(), [&] { return driver().graph_exec_destroy(handle_); });
}
void GraphExec::launch(StreamHandle stream) const {
  check(driver().graph_launch(handle_, stream), "cuGraphLaunch");
}

KernelModule::KernelModule(const Gpu& gpu, const void* image) : gpu_(gpu) {
  const Current current(gpu);
  check(driver().module_load(&handle_, image), "cuModuleLoadData");
}
KernelModule::~KernelModule() {
  release(gpu_.context(), [&] { return driver().module_unload(handle_); });
}
FunctionHandle KernelModule::function(const char* name) const {
  const Current current(gpu_);
  FunctionHandle found = nullptr;
  check(driver().module_function(&found, handle_, name), "cuModuleGetFunction");
  return found;
}

} // namespace lanner::cuda
