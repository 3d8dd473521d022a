#include "lower/measure/preparation_queue.h"

#include <algorithm>
#include <utility>

#include <lanner/error.h>

namespace lanner {

void PreparationQueue::add_kernel(Task task) {
  add(kernels_, std::move(task));
}

void PreparationQueue::add_data(Task task) {
  add(data_, std::move(task));
}

template<typename Made>
void PreparationQueue::add(Queue<Made>& queue, Task task) {
  const std::lock_guard lock(mutex_);
  queue.waiting.push_back(std::move(task));
  bounds_ = thread_bounds();
  if (workers_.size() < static_cast<std::size_t>(threads_))
    workers_.emplace_back([this] { work(); });
  else
    changed_.notify_all();
}

bool PreparationQueue::wants_data() const {
  const std::size_t ahead = data_.begun.size() + data_.made.size();
  return !data_.waiting.empty() && ahead < static_cast<std::size_t>(threads_);
}

void PreparationQueue::work() {
  std::unique_lock lock(mutex_);
  set_thread_bounds(bounds_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || wants_data() || !kernels_.waiting.empty(); });
    if (wants_data())
      run_one(data_, lock);
    else if (!kernels_.waiting.empty())
      run_one(kernels_, lock);
    else
      return;
  }
}

template<typename Made>
void PreparationQueue::run_one(Queue<Made>& queue, std::unique_lock<std::mutex>& lock) {
  const Task task = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  queue.begun.insert(task.name);
  lock.unlock();
  std::shared_ptr<Made> result;
  try {
    control_.cancel.check();
    result = made(task, queue);
  } catch (...) {
    // Whoever needs it meets the error again.
  }
  lock.lock();
  queue.begun.erase(task.name);
  if (result) queue.made[task.name] = std::move(result);
  changed_.notify_all();
}

std::shared_ptr<const Kernel> PreparationQueue::made(const Task& task, const Queue<const Kernel>&) const {
  return Trial::prepared({*task.node, *task.backend, task.tactic, task.target}, constants_);
}

std::shared_ptr<TrialData> PreparationQueue::made(const Task& task, const Queue<TrialData>&) const {
  auto data = std::make_shared<TrialData>(*task.node, 1, control_);
  if (task.expected) static_cast<void>(data->expected(task.tactic, *task.node));
  return data;
}

template<typename Made>
std::shared_ptr<Made> PreparationQueue::take(Queue<Made>& queue, const std::string& name) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !queue.begun.contains(name); });
  if (const auto found = queue.made.find(name); found != queue.made.end()) {
    std::shared_ptr<Made> result = std::move(found->second);
    queue.made.erase(found);
    changed_.notify_all(); // there is room for more
    return result;
  }
  const auto waiting = std::ranges::find(queue.waiting, name, &Task::name);
  if (waiting != queue.waiting.end()) queue.waiting.erase(waiting);
  return nullptr;
}

std::shared_ptr<const Kernel> PreparationQueue::take_kernel(const std::string& name) {
  return take(kernels_, name);
}

std::shared_ptr<TrialData> PreparationQueue::take_data(const std::string& name) {
  return take(data_, name);
}

void PreparationQueue::finish() {
  {
    const std::lock_guard lock(mutex_);
    kernels_.waiting.clear();
    data_.waiting.clear();
    closing_ = true;
    changed_.notify_all();
  }
  workers_.clear(); // joins
  closing_ = false;
  kernels_ = {};
  data_ = {};
}

} // namespace lanner
