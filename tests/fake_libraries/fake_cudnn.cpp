// The parts of cudnnBackend* that Lanner uses. A descriptor handle names a node that other nodes may share,
// as cuDNN keeps what a finalized descriptor refers to.

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "device/cuda/cudnn_api.h"
#include "fake_driver/fake_cuda.h"
#include "fake_libraries/fake_libraries.h"
#include "fake_libraries/graph_arithmetic.h"
#include "fake_libraries/record.h"

namespace {

using fake::Node;
using A = lanner::cudnn::Attribute;
using D = lanner::cudnn::DescriptorType;

constexpr int bad_param = 2000, busy_handle = 2007, shape_mismatch = 2008, not_finalized = 2004,
              unsupported_pattern = 3001;
constexpr std::int64_t tile_knob = 3, fallback_engine = 7, workspace_bytes = 512;

struct DescriptorHandle {
  std::shared_ptr<Node> node;
};
struct Handle {
  void* stream = nullptr;
  std::atomic<bool> busy{false};
};

struct World : fake::Record {
  std::size_t max_operations = std::numeric_limits<std::size_t>::max();
  int note = -1;
  std::vector<std::int64_t> fused_engines{1, 2};
  std::atomic<std::size_t> searches = 0, plans = 0;
};
World& world() {
  static auto* made = new World;
  return *made;
}

#define LANNER_FAKE_ENTER()                                                                                  \
  if (const int status = world().enter(); status != 0) return status

void add_note(Node& engine) {
  if (world().note >= 0) engine.put<int>(A::engine_numerical_note, {world().note});
}

std::shared_ptr<Node> node_of(D type) {
  auto node = std::make_shared<Node>();
  node->type = static_cast<int>(type);
  node->finalized = true;
  return node;
}

/// An engine's configuration as the heuristics create it.
std::shared_ptr<Node> make_config(const std::shared_ptr<Node>& graph, std::int64_t index, std::int64_t tile) {
  auto engine = node_of(D::engine), knob = node_of(D::knob_choice), config = node_of(D::engine_config);
  engine->link(A::engine_operation_graph, {graph});
  engine->put<std::int64_t>(A::engine_global_index, {index});
  add_note(*engine);
  knob->put<int>(A::knob_choice_type, {static_cast<int>(tile_knob)});
  knob->put<std::int64_t>(A::knob_choice_value, {tile});
  config->link(A::engine_config_engine, {engine});
  if (index != fallback_engine) config->link(A::engine_config_knob_choices, {knob});
  return config;
}

int finalize_heuristics(Node& node) {
  const auto& graph = node.links(A::heuristics_operation_graph);
  if (graph.empty()) return bad_param;
  const bool fallback = node.number<int>(A::heuristics_mode, 0) == 2;
  if (fallback)
    node.link(A::heuristics_results, {make_config(graph[0], fallback_engine, 0)});
  else {
    const bool fused = graph[0]->links(A::graph_operations).size() > 1;
    std::vector<std::shared_ptr<Node>> configs;
    for (const std::int64_t index : fused ? world().fused_engines : std::vector<std::int64_t>{1, 2})
      configs.push_back(make_config(graph[0], index, 4 * index));
    node.link(A::heuristics_results, std::move(configs));
  }
  return 0;
}

/// Engines 1 and 2 have one knob, the fallback none.
int finalize_plan(Node& node) {
  const auto& configs = node.links(A::plan_engine_config);
  if (configs.empty() || node.bytes(A::plan_handle).empty()) return bad_param;
  const auto& engines = configs[0]->links(A::engine_config_engine);
  if (engines.empty()) return bad_param;
  const auto index = engines[0]->number<std::int64_t>(A::engine_global_index, -1);
  if (index != 1 && index != 2 && index != fallback_engine) return bad_param;
  const auto& knobs = configs[0]->links(A::engine_config_knob_choices);
  if (knobs.size() != (index == fallback_engine ? 0U : 1U)) return bad_param;
  for (const auto& knob : knobs)
    if (knob->number<int>(A::knob_choice_type, -1) != tile_knob ||
        knob->number<std::int64_t>(A::knob_choice_value, 0) != 4 * index)
      return bad_param;
  node.put<std::int64_t>(A::plan_workspace_size, {index == 1 ? 0 : workspace_bytes});
  return 0;
}

int finalize(Node& node) {
  for (const auto& [attribute, list] : node.linked)
    for (const auto& link : list)
      if (!link->finalized) return not_finalized;
  switch (static_cast<D>(node.type)) {
  case D::engine:
    add_note(node);
    return 0;
  case D::engine_heuristics:
    ++world().searches;
    return finalize_heuristics(node);
  case D::operation_graph:
    if (node.links(A::graph_operations).empty() || node.bytes(A::graph_handle).empty()) return bad_param;
    return node.links(A::graph_operations).size() > world().max_operations ? unsupported_pattern : 0;
  case D::operation_convolution_forward:
    return fake::convolution_fits(node) ? 0 : shape_mismatch;
  case D::execution_plan:
    ++world().plans;
    return finalize_plan(node);
  default:
    return 0;
  }
}

} // namespace

extern "C" {

std::size_t fake_cudnn_calls() {
  const std::lock_guard lock(world().mutex);
  return world().calls;
}
long fake_cudnn_objects() {
  const std::lock_guard lock(world().mutex);
  return world().objects;
}
long fake_cudnn_handles() {
  const std::lock_guard lock(world().mutex);
  return world().handles;
}
void fake_cudnn_fail(std::size_t number, int status) {
  const std::lock_guard lock(world().mutex);
  world().fail_at = number;
  world().fail_with = status;
}
std::size_t fake_cudnn_searches() {
  return world().searches;
}
std::size_t fake_cudnn_plans() {
  return world().plans;
}
void fake_cudnn_limit_operations(std::size_t most) {
  world().max_operations = most;
}
void fake_cudnn_name_for_steps(const std::vector<std::int64_t>& engines) {
  world().fused_engines = engines;
}
void fake_cudnn_set_note(int note) {
  world().note = note;
}

std::size_t cudnnGetVersion() {
  return 91300;
}
const char* cudnnGetErrorString(int) {
  return "CUDNN_STATUS_FAKE";
}
void cudnnGetLastErrorString(char* text, std::size_t size) {
  std::strncpy(text, "asked for\nby a test", size);
}
int cudnnCreate(Handle** handle) {
  LANNER_FAKE_ENTER();
  *handle = new Handle;
  world().count_handles(1);
  return 0;
}
int cudnnDestroy(Handle* handle) {
  delete handle;
  world().count_handles(-1);
  return 0;
}
int cudnnSetStream(Handle* handle, void* stream) {
  LANNER_FAKE_ENTER();
  handle->stream = stream;
  return 0;
}

int cudnnBackendCreateDescriptor(int type, DescriptorHandle** made) {
  LANNER_FAKE_ENTER();
  *made = new DescriptorHandle{std::make_shared<Node>()};
  (*made)->node->type = type;
  world().count_objects(1);
  return 0;
}
int cudnnBackendDestroyDescriptor(DescriptorHandle* handle) {
  delete handle;
  world().count_objects(-1);
  return 0;
}
int cudnnBackendSetAttribute(DescriptorHandle* handle, int attribute, int type, std::int64_t count,
                             const void* values) {
  LANNER_FAKE_ENTER();
  Node& node = *handle->node;
  if (node.finalized || !values || count < 1) return bad_param;
  if (type == static_cast<int>(lanner::cudnn::AttributeType::descriptor)) {
    std::vector<std::shared_ptr<Node>> list;
    for (std::int64_t i = 0; i < count; ++i)
      list.push_back(static_cast<DescriptorHandle* const*>(values)[i]->node);
    node.link(static_cast<A>(attribute), std::move(list));
    return 0;
  }
  const std::size_t size = fake::size_of(type);
  if (size == 0) return bad_param;
  const auto* first = static_cast<const char*>(values);
  node.raw[attribute].assign(first, first + static_cast<std::size_t>(count) * size);
  return 0;
}
int cudnnBackendGetAttribute(DescriptorHandle* handle, int attribute, int type, std::int64_t room,
                             std::int64_t* count, void* values) {
  LANNER_FAKE_ENTER();
  const Node& node = *handle->node;
  if (!node.finalized) return not_finalized;
  if (type == static_cast<int>(lanner::cudnn::AttributeType::descriptor)) {
    const auto& list = node.links(static_cast<A>(attribute));
    // The library reports knobs only to callers that provide room for them.
    const bool hidden = room == 0 && static_cast<A>(attribute) == A::engine_config_knob_choices;
    *count = hidden ? 0 : static_cast<std::int64_t>(list.size());
    for (std::int64_t i = 0; values && i < std::min(room, *count); ++i)
      static_cast<DescriptorHandle**>(values)[i]->node = list[static_cast<std::size_t>(i)];
    return 0;
  }
  const auto& bytes = node.bytes(static_cast<A>(attribute));
  const std::size_t size = fake::size_of(type);
  *count = static_cast<std::int64_t>(bytes.size() / size);
  if (values && !bytes.empty())
    std::memcpy(values, bytes.data(), std::min(bytes.size(), static_cast<std::size_t>(room) * size));
  return 0;
}
int cudnnBackendFinalize(DescriptorHandle* handle) {
  LANNER_FAKE_ENTER();
  if (handle->node->finalized) return bad_param;
  const int status = finalize(*handle->node);
  handle->node->finalized = status == 0;
  return status;
}
int cudnnBackendExecute(Handle* handle, DescriptorHandle* plan, DescriptorHandle* pack) {
  LANNER_FAKE_ENTER();
  if (!plan->node->finalized || !pack->node->finalized) return not_finalized;
  if (handle->busy.exchange(true)) return busy_handle;
  const auto wanted = plan->node->number<std::int64_t>(A::plan_workspace_size, 0);
  const bool given = pack->node->number<void*>(A::pack_workspace, nullptr) != nullptr;
  const bool fits = wanted == 0 || given;
  int status = bad_param;
  if (fits) {
    const auto& engine = plan->node->links(A::plan_engine_config)[0]->links(A::engine_config_engine)[0];
    status = fake_cuda_queue(handle->stream, [graph = engine->links(A::engine_operation_graph)[0],
                                              pointers = pack->node] { fake::run_graph(*graph, *pointers); });
  }
  handle->busy = false;
  return status;
}
}
