#pragma once
// How much memory a build, a load or a run may hold, and how long it may take. Memory is allocated and time
// is spent far below the function that knows the limits, so they are thread-local.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include <lanner/limits.h>

struct lanner_allocator;

namespace lanner {

class CancelToken;
struct Executor;
struct ThreadSettings;

/// Bytes held on behalf of an engine, or of a context in addition to its engine. Whoever allocates memory
/// keeps a pointer to the account for as long as it has the memory, which may be longer than the engine
/// lives. Thread-safe.
class Account {
public:
  /// With the settings of an environment (base/threads/thread_settings.h), and counted for its total; null:
  /// no settings.
  explicit Account(const Limits& limits, std::shared_ptr<const ThreadSettings> thread_settings = nullptr);
  /// What `base` holds counts against the limit too; its thread settings apply here.
  Account(const Limits& limits, std::shared_ptr<const Account> base);
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  /// Throws Error{limit_exceeded} when more than `total_bytes` would be held; nothing is charged then.
  void charge(std::uint64_t bytes);
  void release(std::uint64_t bytes) noexcept {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    if (total_) total_->release(bytes);
  }
  std::uint64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
  const Limits& limits() const noexcept { return limits_; }
  const std::shared_ptr<const ThreadSettings>& thread_settings() const noexcept { return thread_settings_; }

private:
  void charge_alone(std::uint64_t bytes);
  std::uint64_t held_in_all() const noexcept { return held() + (base_ ? base_->held_in_all() : 0); }

  const Limits limits_;
  const std::shared_ptr<const ThreadSettings> thread_settings_;
  const std::shared_ptr<Account> total_; ///< The environment's total.
  const std::shared_ptr<const Account> base_;
  std::atomic<std::uint64_t> held_{0};
};
using AccountPtr = std::shared_ptr<Account>;

/// Bytes charged to an account, released by the destructor. One thread at a time.
class Charge {
public:
  Charge() = default; ///< Without an account: counts nothing.
  explicit Charge(AccountPtr account, std::uint64_t bytes = 0);
  Charge(Charge&& other) noexcept : account_(std::move(other.account_)), bytes_(other.bytes_) {
    other.bytes_ = 0;
  }
  Charge& operator=(Charge&& other) noexcept;
  ~Charge();
  void add(std::uint64_t bytes);
  /// Sets the number of bytes held, more or fewer than before.
  void set(std::uint64_t bytes);
  bool counts() const noexcept { return account_ != nullptr; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Leaves the bytes to the caller, who must release them. Returns the account, null where there is none.
  AccountPtr leave() noexcept {
    bytes_ = 0;
    return std::move(account_);
  }

private:
  AccountPtr account_;
  std::uint64_t bytes_ = 0;
};

/// What a small block of memory takes in addition to its bytes, at least: the allocator's overhead, the
/// pointer's reference count, the tensor around it.
inline constexpr std::uint64_t block_overhead = 256;

/// What a call was given in addition to its arguments; null: the environment's. Owned by the caller, who
/// keeps it for the duration of the call.
struct CallResources {
  const Executor* executor = nullptr;
  const lanner_allocator* allocator = nullptr;
};

/// While it lives the calling thread's memory is charged to this account, and the resources of a call do not
/// apply: they are only for what the call returns. `account` must outlive it.
class AccountScope {
public:
  explicit AccountScope(const AccountPtr& account) noexcept;
  explicit AccountScope(AccountPtr&&) = delete; ///< The scope keeps the address, so a temporary would dangle.
  ~AccountScope();
  AccountScope(const AccountScope&) = delete;

private:
  const AccountPtr* outer_;
  const CallResources* outer_call_;
};
/// While it lives the calling thread uses these resources.
class CallScope {
public:
  explicit CallScope(const CallResources& resources) noexcept;
  ~CallScope();
  CallScope(const CallScope&) = delete;

private:
  const CallResources* outer_;
};
/// The calling thread's account; null where nothing is counted.
const AccountPtr& current_account() noexcept;
/// Null: for memory that stays as long as the process, whoever needs it first.
const AccountPtr& no_account() noexcept;
/// The limits of the calling thread's account; the defaults without an account.
const Limits& current_limits();

/// Throws Error{limit_exceeded} for a rank above that of current_limits(); `what` begins the message. Work on
/// a type may take time that grows with the square of its rank, so call it wherever ranks are read.
void check_rank(std::uint64_t rank, std::string_view what);

/// While it lives check_deadline() enforces `limits.seconds` from now. When nested, the earlier deadline
/// counts.
class DeadlineScope {
public:
  explicit DeadlineScope(const Limits& limits) noexcept;
  /// The same, and check_deadline() checks `cancel`, which must outlive it.
  DeadlineScope(const Limits& limits, const CancelToken& cancel) noexcept;
  ~DeadlineScope();
  DeadlineScope(const DeadlineScope&) = delete;

private:
  friend void check_deadline();
  std::chrono::steady_clock::time_point end_;
  double seconds_ = 0;
  const DeadlineScope* outer_;
  const CancelToken* outer_cancel_;
};
/// Throws Error{limit_exceeded} once the deadline has passed, Error{cancelled} once the scope's call was
/// cancelled. CancelToken::check() calls it, so a direct call is only needed where there is no token.
void check_deadline();

class Meter;

/// The thread-local account, call and deadline of a thread, for threads that work on its behalf.
struct ThreadBounds {
  const AccountPtr* account = nullptr;
  const DeadlineScope* deadline = nullptr;
  const CallResources* call = nullptr;
  Meter* meter = nullptr;
  const CancelToken* cancel = nullptr;
};
ThreadBounds thread_bounds() noexcept;
void set_thread_bounds(const ThreadBounds& bounds) noexcept;

/// While it lives, counts memory that grows while the thread works and that no owner counts yet: characters
/// of strings that a kernel writes, what a parser has read. The scopes of one thread nest; threads that work
/// on its behalf add to it too.
class Meter {
public:
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  void add(std::uint64_t bytes) {
    if (pending_.fetch_add(bytes, std::memory_order_relaxed) + bytes >= step) settle();
  }

private:
  static constexpr std::uint64_t step = 1u << 16;
  void settle();

  const AccountPtr account_;
  std::atomic<std::uint64_t> pending_{0}; ///< Not charged yet: the account is charged in larger steps.
  std::atomic<std::uint64_t> charged_{0};
  Meter* outer_;
};
/// Adds to the thread's innermost meter, before the memory is allocated. Does nothing without a meter.
void count_bytes(std::uint64_t bytes);

} // namespace lanner
