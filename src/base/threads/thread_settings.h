#pragma once
// Thread settings: what an Environment and a call say that code far below needs.

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

/// Named in errors of the limit on the memory of all of an environment's engines.
inline constexpr std::string_view all_engines = "all engines of the environment";

/// Settings of an environment: immutable, reached through the account of the working thread. Members that are
/// not set mean the process's.
struct ThreadSettings {
  LogCallback log;
  std::optional<lanner_allocator> allocator;
  std::shared_ptr<const Executor> executor;
  std::optional<Limits> limits;
  AccountPtr total; ///< Total of all its engines; null: not counted.

  bool say_nothing() const { return !log && !allocator && !executor && !limits; }
};

/// Those of the calling thread's account; null where there is none, or its environment sets nothing.
const ThreadSettings* current_thread_settings() noexcept;
/// The executor of the calling thread's loops: the call's, else the environment's; null: neither gives one.
const Executor* given_executor() noexcept;

/// Throws Error{invalid_argument} for a table with a missing function.
void check_allocator(const lanner_allocator& allocator);
/// Memory from the calling thread's allocator, the call's or else the environment's; null where neither gives
/// one. The last copy returns the memory to the allocator, and `charge`, whose ownership it takes, to its
/// account. Throws Error{out_of_memory}.
std::shared_ptr<void> allocated_outside(lanner_allocation wanted, Charge& charge);
/// Charges bytes of a GPU, which count only for the environment's total, in addition to the GPU's own bound.
/// Throws Error{limit_exceeded}.
Charge charge_total(std::uint64_t bytes);

/// The stricter of both; members of `bounds` at their defaults do not apply.
Limits within(const Limits& bounds, const Limits& limits);

} // namespace lanner
