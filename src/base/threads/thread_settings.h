#pragma once
// What an Environment and a call say that is needed far below the functions that know them.

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

/// Where errors say that memory of all of an environment's engines is bounded.
inline constexpr std::string_view all_engines = "all engines of the environment";

/// Of an environment: immutable, reached by the account of the thread that works. What is not set is the
/// process's.
struct ThreadSettings {
  LogCallback log;
  std::optional<lanner_allocator> allocator;
  std::shared_ptr<const Executor> executor;
  std::optional<Limits> limits;
  AccountPtr total; ///< Of what all its engines hold together; null: that is not counted.

  bool say_nothing() const { return !log && !allocator && !executor && !limits; }
};

/// Of the calling thread's account; null where there is none, or its environment says nothing.
const ThreadSettings* current_thread_settings() noexcept;
/// What loops of the calling thread run on: the call's, else the environment's; null: neither says.
const Executor* given_executor() noexcept;

/// Throws Error{invalid_argument} where a table lacks a function.
void check_allocator(const lanner_allocator& allocator);
/// Memory by the calling thread's allocator, the call's or else the environment's; null where neither says.
/// The last copy gives the memory back to it, and `charge`, which it then has taken over, to its account.
/// Throws Error{out_of_memory}.
std::shared_ptr<void> allocated_outside(lanner_allocation wanted, Charge& charge);
/// Bytes of a GPU, which count for the environment's total alone beside the GPU's own bound. Throws
/// Error{limit_exceeded}.
Charge charge_total(std::uint64_t bytes);

/// What both allow; members of `bounds` at their defaults say nothing.
Limits within(const Limits& bounds, const Limits& limits);

} // namespace lanner
