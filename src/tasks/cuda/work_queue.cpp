#include "tasks/cuda/work_queue.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "base/limits/account.h"
#include "device/memory.h"

namespace lanner::tasks::cuda {
namespace {

// A copy of fewer bytes takes less time than queueing kernels and waiting for a count.
constexpr std::uint64_t least_remote = 64 << 10;
// Largest memory of each kind that an idle queue keeps.
constexpr std::uint64_t most_resting = 64 << 20;
constexpr std::size_t most_idle = 4;

/// Idle queues, by GPU.
struct IdleQueues {
  std::mutex mutex;
  std::map<Device, std::vector<std::unique_ptr<WorkQueue>>> idle;
};

// Never destroyed, as drivers are unloaded before static objects are.
IdleQueues& idle_queues() {
  static auto* const all = new IdleQueues;
  return *all;
}

std::unique_ptr<WorkQueue> taken(Device device) {
  {
    const std::lock_guard lock(idle_queues().mutex);
    auto& idle = idle_queues().idle[device];
    if (!idle.empty()) {
      std::unique_ptr<WorkQueue> queue = std::move(idle.back());
      idle.pop_back();
      return queue;
    }
  }
  return std::make_unique<WorkQueue>(Gpu::get(device));
}

} // namespace

bool has_kernels() {
  return lanner::cuda::has_embedded("task_rows") && lanner::cuda::has_embedded("task_boxes") &&
         lanner::cuda::has_embedded("task_maps");
}

int type_number(DType type) {
  return type == DType::f32 ? 0 : type == DType::f16 ? 1 : type == DType::bf16 ? 2 : -1;
}

bool stays(const Tensor& tensor) {
  return !tensor.device().is_host() && tensor.layout().row_major() && type_number(tensor.dtype()) >= 0 &&
         tensor.bytes() >= least_remote && has_kernels();
}

Tensor fetched(const Tensor& tensor) {
  Limits unbounded;
  unbounded.tensor_bytes = UINT64_MAX;
  Tensor result = Tensor::allocate(tensor.dtype(), tensor.shape(), tensor.layout(), {}, unbounded);
  const QueueUse queue(tensor.device());
  queue->download(result.data(), tensor.data(), tensor.bytes());
  queue->wait();
  return result;
}

WorkQueue::WorkQueue(const Gpu& gpu) : gpu_(gpu), stream_(gpu) {}

std::byte* WorkQueue::grown(Block& block, std::uint64_t bytes, bool pinned) {
  if (block.bytes < bytes) {
    // It outlives the call, so it is not charged to the call's account.
    const AccountScope lasting(no_account());
    const std::uint64_t larger = std::max<std::uint64_t>(bytes, 1 << 16);
    block = {}; // Freed in stream order, after queued work.
    block.memory = pinned ? allocate_pinned(gpu_.device(), larger) : allocate_memory(gpu_.device(), larger);
    block.bytes = larger;
  }
  return static_cast<std::byte*>(block.memory.get());
}

std::byte* WorkQueue::memory(Use use, std::uint64_t bytes) {
  return grown(memory_[use], bytes, false);
}

std::byte* WorkQueue::pinned(Use use, std::uint64_t bytes) {
  return grown(pinned_[use], bytes, true);
}

const std::byte* WorkQueue::upload(std::span<const std::byte> bytes) {
  if (memory_[uploads].bytes < bytes.size()) uploaded_.clear();
  std::byte* const there = memory(uploads, bytes.size());
  if (std::ranges::equal(bytes, uploaded_)) return there;
  uploaded_.clear(); // Empty until the copy was queued.
  std::byte* const through = pinned(uploads, bytes.size());
  if (!bytes.empty()) std::memcpy(through, bytes.data(), bytes.size());
  copy_memory({there, gpu_.device()}, {through, {}}, bytes.size(), stream());
  uploaded_.assign(bytes.begin(), bytes.end());
  return there;
}

void WorkQueue::download(void* to, const void* from, std::uint64_t bytes) {
  copy_memory({to, {}}, {const_cast<void*>(from), gpu_.device()}, bytes, stream());
}

FunctionHandle WorkQueue::function(const char* stem, const char* name) {
  const auto [found, fresh] = functions_.try_emplace(name, nullptr);
  if (fresh) found->second = lanner::cuda::embedded_function(gpu_, stem, name);
  return found->second;
}

void WorkQueue::rest() {
  for (auto* blocks : {memory_, pinned_})
    for (int use = 0; use < uses; ++use)
      if (blocks[use].bytes > most_resting) blocks[use] = {};
  if (!memory_[uploads].memory) uploaded_.clear();
}

QueueUse::QueueUse(Device device)
    : device_(device), exceptions_(std::uncaught_exceptions()), current_(Gpu::get(device)),
      queue_(taken(device)) {}

QueueUse::~QueueUse() {
  if (std::uncaught_exceptions() > exceptions_) return;
  try {
    queue_->rest();
    const std::lock_guard lock(idle_queues().mutex);
    auto& idle = idle_queues().idle[device_];
    if (idle.size() < most_idle) idle.push_back(std::move(queue_));
  } catch (...) { // Then the queue is destroyed.
  }
}

} // namespace lanner::tasks::cuda
