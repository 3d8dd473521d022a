#include "base/limits/account.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lanner/cancel.h>
#include <lanner/tensor.h>

#include "base/limits/counted_vector.h"
#include "device/parallel.h"
#include "device/team.h"
#include "expect_error.h"
#include "ops/definition/rows.h"
#include "tensor/strings.h"

namespace lanner {
namespace {

Limits of_bytes(std::uint64_t bytes) {
  Limits limits;
  limits.total_bytes = bytes;
  return limits;
}

constexpr std::string_view lifted_by = "raise it with --limit total_bytes=N";

TEST(Account, ChargeAboveTheLimitFails) {
  Account account(of_bytes(100));
  account.charge(60);
  LANNER_EXPECT_ERROR(account.charge(41), ErrorCode::limit_exceeded, "over the limit total_bytes of 100");
  EXPECT_EQ(account.held(), 60u);
  account.charge(40);
  LANNER_EXPECT_ERROR(account.charge(UINT64_MAX), ErrorCode::limit_exceeded, lifted_by);
  account.release(100);
  EXPECT_EQ(account.held(), 0u);
  Account boundless(of_bytes(UINT64_MAX));
  boundless.charge(UINT64_MAX - 1);
  LANNER_EXPECT_ERROR(boundless.charge(2), ErrorCode::limit_exceeded, lifted_by);
}

TEST(Account, BytesOfTheBaseAccountCount) {
  const auto engine = std::make_shared<Account>(of_bytes(100));
  Account context(of_bytes(100), engine);
  engine->charge(60);
  LANNER_EXPECT_ERROR(context.charge(41), ErrorCode::limit_exceeded, "41 bytes in addition to 60");
  context.charge(40);
  EXPECT_EQ(engine->held(), 60u);
  engine->release(60);
  context.release(40);
}

TEST(Account, TensorFreedOnAnotherThreadReleasesItsBytes) {
  const auto account = std::make_shared<Account>(of_bytes(1 << 20));
  Tensor tensor;
  {
    const AccountScope scope(account);
    tensor = Tensor::allocate(DType::f32, {1000});
    EXPECT_GE(account->held(), 4000u);
    LANNER_EXPECT_ERROR(Tensor::allocate(DType::f32, {1 << 18}), ErrorCode::limit_exceeded, lifted_by);
    LANNER_EXPECT_ERROR(Tensor::allocate(DType::string, {1 << 15}), ErrorCode::limit_exceeded, lifted_by);
  }
  EXPECT_EQ(current_account(), nullptr);
  const std::uint64_t held = account->held();
  const Tensor uncounted = Tensor::allocate(DType::f32, {1000});
  EXPECT_EQ(account->held(), held);
  std::thread([&] { tensor = {}; }).join();
  EXPECT_EQ(account->held(), 0u);
}

TEST(Account, LivesAsLongAsItsMemory) {
  auto account = std::make_shared<Account>(of_bytes(1 << 20));
  const std::weak_ptr<Account> watched = account;
  Tensor kept;
  {
    const AccountScope scope(account);
    kept = Tensor::allocate(DType::string, {3});
  }
  account.reset();
  EXPECT_FALSE(watched.expired());
  kept = {};
  EXPECT_TRUE(watched.expired());
}

TEST(Account, MemoryOfTeamHelpersIsChargedToTheCaller) {
  const auto account = std::make_shared<Account>(of_bytes(1 << 24));
  const AccountScope scope(account);
  std::array<Tensor, 2> made;
  run_team(
      2, Shares::apart,
      [](void* tensors) {
        const auto number = static_cast<std::size_t>(team_share().number);
        static_cast<Tensor*>(tensors)[number] = Tensor::allocate(DType::f32, {1 << 18});
      },
      made.data());
  const auto parts = static_cast<std::uint64_t>(made[0].defined()) + made[1].defined();
  EXPECT_GE(account->held(), parts << 20);
  made = {};
  EXPECT_EQ(account->held(), 0u);
}

TEST(Account, CharactersOfStringsAreCharged) {
  const auto account = std::make_shared<Account>(of_bytes(1 << 20));
  const AccountScope scope(account);
  Tensor strings = Tensor::allocate(DType::string, {2});
  const std::uint64_t empty = account->held();
  strings.as<std::string>()[0] = std::string(1000, 'x');
  own_characters(strings);
  EXPECT_GE(account->held(), empty + 1000);
  const std::uint64_t filled = account->held();
  own_characters(strings.reshaped({1, 2}));
  EXPECT_EQ(account->held(), filled);
  {
    const Tensor copied = strings.clone();
    EXPECT_GE(account->held(), 2 * filled - empty);
  }
  EXPECT_EQ(account->held(), filled);
  strings.as<std::string>()[1] = std::string(2 << 20, 'x');
  LANNER_EXPECT_ERROR(own_characters(strings), ErrorCode::limit_exceeded, lifted_by);
  strings = {};
  EXPECT_EQ(account->held(), 0u);
}

TEST(Account, MeterFailsBeforeMemoryIsAllocated) {
  const auto account = std::make_shared<Account>(of_bytes(1 << 20));
  const AccountScope scope(account);
  {
    Meter meter;
    const std::string element(10'000, 'x');
    std::string to;
    int assigned = 0;
    LANNER_EXPECT_ERROR(for (; assigned < 1000; ++assigned) assign_element(to, element),
                        ErrorCode::limit_exceeded, lifted_by);
    EXPECT_LT(assigned, 115);
    EXPECT_GT(assigned, 90);
  }
  EXPECT_EQ(account->held(), 0u);
}

TEST(Account, MeterCountsStringsWrittenByATeam) {
  const auto account = std::make_shared<Account>(of_bytes(1 << 20));
  const AccountScope scope(account);
  const std::string element(10'000, 'x');
  {
    const Meter meter; // No single thread writes more than the limit.
    LANNER_EXPECT_ERROR(parallel_each(4, 160,
                                      [&](std::int64_t, std::int64_t) {
                                        std::string to;
                                        assign_element(to, element);
                                      }),
                        ErrorCode::limit_exceeded, lifted_by);
  }
  EXPECT_EQ(account->held(), 0u);
}

TEST(Account, CountedVectorIsChargedBeforeItIsAllocated) {
  const auto account = std::make_shared<Account>(of_bytes(1 << 20));
  CountedVector<double> kept;
  {
    const AccountScope scope(account);
    CountedVector<double> list(1000);
    EXPECT_EQ(account->held(), 8000u);
    LANNER_EXPECT_ERROR(list.reserve(1u << 20), ErrorCode::limit_exceeded, lifted_by);
    kept = std::move(list);
  }
  EXPECT_EQ(account->held(), 8000u);
  kept = {};
  kept.shrink_to_fit();
  EXPECT_EQ(account->held(), 0u);
}

TEST(Deadline, CancelTokenCheckFailsAfterTheDeadline) {
  Limits limits;
  limits.seconds = 1e-9;
  EXPECT_NO_THROW(CancelToken().check());
  const DeadlineScope outer(limits);
  LANNER_EXPECT_ERROR(CancelToken().check(), ErrorCode::limit_exceeded, "raise it with --limit seconds=N");
  limits.seconds = 1e9;
  const DeadlineScope later(limits);
  LANNER_EXPECT_ERROR(check_deadline(), ErrorCode::limit_exceeded, "limit seconds of 1e-09");
}

TEST(Deadline, AppliesOnlyWithinItsScope) {
  Limits limits;
  limits.seconds = 1e300;
  const DeadlineScope outer(limits);
  {
    limits.seconds = 1e-9;
    const DeadlineScope inner(limits);
    LANNER_EXPECT_ERROR(check_deadline(), ErrorCode::limit_exceeded, "seconds");
  }
  EXPECT_NO_THROW(check_deadline());
}

TEST(Deadline, EndsTheRowsOfAKernel) {
  Limits limits;
  limits.seconds = 1e-9;
  const DeadlineScope scope(limits);
  for (const int threads : {1, 2})
    LANNER_EXPECT_ERROR(ops::for_each_row(threads, 100, [](std::int64_t) {}), ErrorCode::limit_exceeded,
                        "raise it with --limit seconds=N");
}

TEST(Rank, LimitIsThatOfTheAccount) {
  EXPECT_NO_THROW(check_rank(64, "x"));
  LANNER_EXPECT_ERROR(check_rank(65, "x"), ErrorCode::limit_exceeded,
                      "x: rank 65, over the limit rank of 64");
  Limits limits;
  limits.rank = 100;
  const auto account = std::make_shared<Account>(limits);
  const AccountScope scope(account);
  EXPECT_NO_THROW(check_rank(100, "x"));
}

} // namespace
} // namespace lanner
