#pragma once
// Settings of an environment and a call (log, allocator, threads, limits) for code without a parameter for
// them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <lanner/allocator.h>
#include <lanner/limits.h>
#include <lanner/log.h>

#include "base/limits/account.h"

namespace lanner {

struct Executor;

/// Context of errors about the memory bound of all of an environment's engines.
inline constexpr std::string_view all_engines = "all engines of the environment";

/// Settings of an environment: immutable, reached through the working thread's account. Unset members are the
/// process's.
struct ThreadSettings {
  LogCallback log;
  std::optional<lanner_allocator> allocator;
  std::shared_ptr<const Executor> executor;
  std::optional<Limits> limits;
  AccountPtr total; ///< For the memory of all its engines together; null: not counted.

  bool say_nothing() const { return !log && !allocator && !executor && !limits; }
};

/// Those of the calling thread's account; null where there are none.
const ThreadSettings* current_thread_settings() noexcept;
/// The executor for loops of the calling thread: the call's, else the environment's; null: neither has one.
const Executor* given_executor() noexcept;

/// Throws Error{invalid_argument} where a function is missing.
void check_allocator(const lanner_allocator& allocator);
/// Memory from the calling thread's allocator, the call's or else the environment's; null where neither has
/// one. Takes over `charge`; the last copy releases the memory to the allocator and the charge to its
/// account. Throws Error{out_of_memory}.
std::shared_ptr<void> allocated_outside(lanner_allocation wanted, Charge& charge);
/// Charges bytes of a GPU, which count for the environment's total in addition to the GPU's own bound. Throws
/// Error{limit_exceeded}.
Charge charge_total(std::uint64_t bytes);

/// The stricter of both; members of `bounds` at their defaults have no effect.
Limits within(const Limits& bounds, const Limits& limits);

} // namespace lanner
