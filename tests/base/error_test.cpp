#include <lanner/cancel.h>
#include <lanner/error.h>
#include <lanner/limits.h>
#include <lanner/log.h>

#include <new>
#include <string>
#include <vector>

#include "base/check.h"
#include "expect_error.h"

namespace lanner {
namespace {

TEST(Error, ContextComesFirst) {
  const Error error =
      Error(ErrorCode::bad_data, "axis 4 out of range").within("softmax").within("node conv_12");
  EXPECT_EQ(error.message(), "node conv_12: softmax: axis 4 out of range");
  EXPECT_EQ(error.code(), ErrorCode::bad_data);
  EXPECT_EQ(to_string(error.code()), "bad_data");
}

TEST(Error, WithContextNamesRefusedMemory) {
  LANNER_EXPECT_ERROR(with_context([] { return "build"; }, []() -> int { throw std::bad_alloc(); }),
                      ErrorCode::out_of_memory, "build: ");
  EXPECT_EQ(with_context([] { return "build"; }, [] { return 7; }), 7);
}

TEST(Limits, ProductIsChecked) {
  EXPECT_EQ(checked_product(6, 7, 42, "tensor"), 42u);
  LANNER_EXPECT_ERROR(checked_product(6, 7, 41, "tensor"), ErrorCode::limit_exceeded, "tensor: 6 x 7");
  LANNER_EXPECT_ERROR(checked_product(1ull << 33, 1ull << 33, UINT64_MAX, "tensor"),
                      ErrorCode::limit_exceeded, "tensor");
}

TEST(CancelToken, CopiesShareOneFlag) {
  const CancelToken token = CancelToken::create();
  const CancelToken copy = token;
  EXPECT_NO_THROW(token.check());
  copy.cancel();
  EXPECT_TRUE(token.cancelled());
  LANNER_EXPECT_ERROR(token.check(), ErrorCode::cancelled, "cancelled");
  const CancelToken never;
  never.cancel();
  EXPECT_FALSE(never.cancelled());
}

TEST(Log, MessagesReachTheCallback) {
  std::vector<std::string> seen;
  set_log_callback([&](LogLevel level, std::string_view message) {
    seen.push_back(std::to_string(static_cast<int>(level)) + std::string(message));
  });
  log_message(LogLevel::warning, "slow path");
  set_log_callback(nullptr);
  log_message(LogLevel::warning, "dropped");
  EXPECT_EQ(seen, std::vector<std::string>{"2slow path"});
}

} // namespace
} // namespace lanner
