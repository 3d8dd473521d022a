// Environment: copy on write.

#include <lanner/environment.h>

#include <algorithm>

#include <fmt/format.h>

#include <lanner/threads.h>

#include "backends/backends.h"
#include "base/check.h"
#include "base/options.h"
#include "device/threads.h"
#include "engine/environment_state.h"
#include "ops/table/custom.h"
#include "ops/table/table.h"

namespace lanner {
namespace {

std::shared_ptr<const EnvironmentState> default_state() {
  static const auto state =
      std::make_shared<const EnvironmentState>(EnvironmentState{builtin_op_table(), {}, {}, {}, 0, nullptr});
  return state;
}

/// A copy of the thread settings with one change.
template<typename Change>
void change_thread_settings(EnvironmentState& state, Change change) {
  auto made =
      std::make_shared<ThreadSettings>(state.thread_settings ? *state.thread_settings : ThreadSettings{});
  change(*made);
  state.thread_settings = made->say_nothing() ? nullptr : std::move(made);
}

} // namespace

std::filesystem::path EnvironmentState::timing_cache() const {
  const std::filesystem::path& folder = cache_folder.empty() ? options().cache_folder : cache_folder;
  return folder.empty() ? folder : folder / "timing.txt";
}

int EnvironmentState::team() const {
  return threads > 0 ? threads : default_team();
}

Limits EnvironmentState::within(const Limits& limits) const {
  return thread_settings && thread_settings->limits ? lanner::within(*thread_settings->limits, limits)
                                                    : limits;
}

Environment::Environment() : state_(default_state()) {}

/// The state of this environment, copied first if shared.
EnvironmentState& Environment::changed() {
  auto made = std::make_shared<EnvironmentState>(*state_);
  EnvironmentState& state = *made;
  state_ = std::move(made);
  return state;
}

void Environment::add_operator(const lanner_operator& table) {
  auto op = std::make_shared<const CustomOperator>(table);
  check(!state_->ops.find(op->name()), ErrorCode::invalid_argument, "operator {}: the name is taken",
        op->name());
  EnvironmentState& state = changed();
  state.added.push_back(op->name());
  std::ranges::sort(state.added);
  state.ops.add(custom_op(std::move(op)));
}

std::vector<std::string> Environment::operators() const {
  std::vector<std::string> list;
  for (const std::string& name : state_->added)
    list.push_back(fmt::format("{} {}", name, custom_operator(state_->ops.get(name))->version()));
  return list;
}

void Environment::set_backends(const std::vector<std::string>& names) {
  auto backends = names.empty() ? names : checked_backends(names);
  changed().backends = std::move(backends);
}

std::vector<std::string> Environment::backends() const {
  return state_->backends.empty() ? checked_backends({}) : state_->backends;
}

void Environment::set_cache_folder(const std::filesystem::path& folder) {
  changed().cache_folder = folder;
}

void Environment::set_log_callback(LogCallback callback) {
  change_thread_settings(changed(), [&](ThreadSettings& made) { made.log = std::move(callback); });
}

void Environment::set_allocator(const lanner_allocator* allocator) {
  if (allocator) check_allocator(*allocator);
  change_thread_settings(changed(), [&](ThreadSettings& made) {
    made.allocator = allocator ? std::optional(*allocator) : std::nullopt;
  });
}

void Environment::set_executor(std::shared_ptr<const Executor> executor) {
  if (executor) check_executor(*executor);
  change_thread_settings(changed(), [&](ThreadSettings& made) { made.executor = std::move(executor); });
}

void Environment::set_threads(int count) {
  check_threads(count);
  changed().threads = count;
}

void Environment::set_limits(const Limits& limits) {
  change_thread_settings(changed(), [&](ThreadSettings& made) {
    const bool bounds_all = limits.total_bytes != default_total_bytes();
    made.limits = limits;
    made.total = bounds_all ? std::make_shared<Account>(limits, made.total) : nullptr;
  });
}

} // namespace lanner
