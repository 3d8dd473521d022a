#include "base/threads/thread_settings.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/limits/limit_table.h"

namespace lanner {
namespace {

const lanner_allocator* given_allocator() noexcept {
  const CallResources* call = thread_bounds().call;
  if (call && call->allocator) return call->allocator;
  const ThreadSettings* settings = current_thread_settings();
  return settings && settings->allocator ? &*settings->allocator : nullptr;
}

/// The stricter of two bounds; for `seconds`, the only double, 0 means no bound.
template<typename T>
T tighter(T a, T b) {
  if constexpr (std::is_same_v<T, double>) return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
  return std::min(a, b);
}

/// The limit with this name, if it was set.
std::optional<double> set_limit_called(const Limits& limits, std::string_view name) {
  const Limits defaults;
  std::optional<double> found;
  for_each_limit([&](std::string_view each, auto member) {
    if (each == name && limits.*member != defaults.*member) found = static_cast<double>(limits.*member);
  });
  return found;
}

std::string_view device_name(const lanner_allocation& wanted) {
  if (wanted.device == LANNER_CUDA) return "GPU";
  return wanted.pinned ? "page-locked" : "host";
}

} // namespace

const ThreadSettings* current_thread_settings() noexcept {
  const AccountPtr& account = current_account();
  return account ? account->thread_settings().get() : nullptr;
}

const Executor* given_executor() noexcept {
  const CallResources* call = thread_bounds().call;
  if (call && call->executor) return call->executor;
  const ThreadSettings* settings = current_thread_settings();
  return settings ? settings->executor.get() : nullptr;
}

void check_allocator(const lanner_allocator& allocator) {
  check(allocator.allocate && allocator.release, ErrorCode::invalid_argument,
        "allocator: its function {} is missing", allocator.allocate ? "release" : "allocate");
}

std::shared_ptr<void> allocated_outside(lanner_allocation wanted, Charge& charge) {
  const lanner_allocator* given = given_allocator();
  if (!given) return nullptr;
  const lanner_allocator allocator = *given;
  wanted.bytes = std::max<std::uint64_t>(wanted.bytes, 1);
  void* memory = allocator.allocate(allocator.user, &wanted);
  check(memory != nullptr, ErrorCode::out_of_memory,
        "the program's allocator refused {} bytes of {} memory; let it have more, or free what is not used",
        wanted.bytes, device_name(wanted));
  const std::uint64_t charged = charge.bytes();
  std::shared_ptr<void> block(memory,
                              [wanted, allocator, charged, account = charge.leave()](void* given) noexcept {
                                allocator.release(allocator.user, given, &wanted);
                                if (account) account->release(charged);
                              });
  check(reinterpret_cast<std::uintptr_t>(memory) % wanted.alignment == 0, ErrorCode::invalid_argument,
        "the program's allocator gave memory at {}; expected a multiple of {}", memory, wanted.alignment);
  return block;
}

Charge charge_total(std::uint64_t bytes) {
  const ThreadSettings* settings = current_thread_settings();
  return with_context([] { return all_engines; },
                      [&] { return Charge(settings ? settings->total : no_account(), bytes); });
}

Limits within(const Limits& bounds, const Limits& limits) {
  const Limits defaults;
  Limits both = limits;
  for_each_limit([&](std::string_view, auto member) {
    if (bounds.*member != defaults.*member) both.*member = tighter(bounds.*member, limits.*member);
  });
  return both;
}

std::string limit_remedy(std::string_view name, double bound) {
  const ThreadSettings* settings = current_thread_settings();
  if (settings && settings->limits && set_limit_called(*settings->limits, name) == bound)
    return "raise it in the limits of the environment";
  return fmt::format("raise it with --limit {}=N", name);
}

} // namespace lanner
