#include "base/limits/account.h"

#include <algorithm>
#include <utility>

#include <lanner/cancel.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/threads/thread_settings.h"

namespace lanner {
namespace {

thread_local ThreadBounds bounds;

} // namespace

Account::Account(const Limits& limits, std::shared_ptr<const ThreadSettings> thread_settings)
    : limits_(limits), thread_settings_(std::move(thread_settings)),
      total_(thread_settings_ ? thread_settings_->total : nullptr) {}

Account::Account(const Limits& limits, std::shared_ptr<const Account> base)
    : limits_(limits), thread_settings_(base ? base->thread_settings() : nullptr),
      total_(thread_settings_ ? thread_settings_->total : nullptr), base_(std::move(base)) {}

void Account::charge(std::uint64_t bytes) {
  if (!total_) return charge_alone(bytes);
  with_context([] { return all_engines; }, [&] { total_->charge(bytes); });
  try {
    charge_alone(bytes);
  } catch (...) {
    total_->release(bytes);
    throw;
  }
}

void Account::charge_alone(std::uint64_t bytes) {
  const std::uint64_t limit = limits_.total_bytes;
  std::uint64_t before = held();
  for (;;) {
    const std::uint64_t base_bytes = base_ ? base_->held_in_all() : 0;
    const bool fits = before <= limit && base_bytes <= limit - before && bytes <= limit - before - base_bytes;
    if (!fits)
      fail_limit("total_bytes", limit, "memory: {} bytes in addition to {} in use", bytes,
                 before + base_bytes);
    if (held_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed)) return;
  }
}

Charge::Charge(AccountPtr account, std::uint64_t bytes) : account_(std::move(account)) {
  add(bytes);
}

Charge& Charge::operator=(Charge&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Charge::~Charge() {
  if (account_) account_->release(bytes_);
}

void Charge::add(std::uint64_t bytes) {
  if (!account_ || bytes == 0) return;
  account_->charge(bytes);
  bytes_ += bytes;
}

void Charge::set(std::uint64_t bytes) {
  if (bytes >= bytes_) return add(bytes - bytes_);
  if (account_) account_->release(bytes_ - bytes);
  bytes_ = bytes;
}

AccountScope::AccountScope(const AccountPtr& account) noexcept
    : outer_(std::exchange(bounds.account, &account)), outer_call_(std::exchange(bounds.call, nullptr)) {}

AccountScope::~AccountScope() {
  bounds.account = outer_;
  bounds.call = outer_call_;
}

CallScope::CallScope(const CallResources& resources) noexcept
    : outer_(std::exchange(bounds.call, &resources)) {}

CallScope::~CallScope() {
  bounds.call = outer_;
}

const AccountPtr& no_account() noexcept {
  static const AccountPtr none;
  return none;
}

const AccountPtr& current_account() noexcept {
  return bounds.account ? *bounds.account : no_account();
}

const Limits& current_limits() {
  static const Limits defaults;
  const AccountPtr& account = current_account();
  return account ? account->limits() : defaults;
}

void check_rank(std::uint64_t rank, std::string_view what) {
  check_limit("rank", rank, current_limits().rank, "{}: rank {}", what, rank);
}

DeadlineScope::DeadlineScope(const Limits& limits) noexcept
    : outer_(bounds.deadline), outer_cancel_(bounds.cancel) {
  if (!(limits.seconds > 0)) return;
  constexpr double most = 1e9; // a clock's range is finite
  seconds_ = limits.seconds;
  end_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                std::chrono::duration<double>(std::min(seconds_, most)));
  if (!outer_ || end_ < outer_->end_) bounds.deadline = this;
}

DeadlineScope::DeadlineScope(const Limits& limits, const CancelToken& cancel) noexcept
    : DeadlineScope(limits) {
  bounds.cancel = &cancel;
}

DeadlineScope::~DeadlineScope() {
  bounds.deadline = outer_;
  bounds.cancel = outer_cancel_;
}

void check_deadline() {
  if (bounds.cancel && bounds.cancel->cancelled()) fail(ErrorCode::cancelled, "cancelled by the caller");
  const DeadlineScope* deadline = bounds.deadline;
  if (!deadline || std::chrono::steady_clock::now() < deadline->end_) return;
  fail_limit("seconds", deadline->seconds_, "it took too long");
}

ThreadBounds thread_bounds() noexcept {
  return bounds;
}

void set_thread_bounds(const ThreadBounds& others) noexcept {
  bounds = others;
}

Meter::Meter() : account_(current_account()), outer_(std::exchange(bounds.meter, this)) {}

Meter::~Meter() {
  bounds.meter = outer_;
  if (account_) account_->release(charged_);
}

void Meter::settle() {
  const std::uint64_t pending = pending_.exchange(0, std::memory_order_relaxed);
  if (!account_ || pending == 0) return;
  account_->charge(pending);
  charged_.fetch_add(pending, std::memory_order_relaxed);
}

void count_bytes(std::uint64_t bytes) {
  if (bounds.meter) bounds.meter->add(bytes);
}

} // namespace lanner
