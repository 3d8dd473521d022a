#include <lanner/cancel.h>
#include <lanner/error.h>
#include <lanner/limits.h>
#include <lanner/log.h>

#include <new>
#include <string>
#include <string_view>
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

TEST(Error, ContextIsAddedToBadAlloc) {
  LANNER_EXPECT_ERROR(with_context([] { return "build"; }, []() -> int { throw std::bad_alloc(); }),
                      ErrorCode::out_of_memory, "build: ");
  EXPECT_EQ(with_context([] { return "build"; }, [] { return 7; }), 7);
}

TEST(Error, ControlCharactersInNamesAreEscaped) {
  const auto shown = [](std::string_view name) {
    try {
      fail(ErrorCode::bad_data, "node {}: expected another", name);
    } catch (const Error& error) {
      return error.within(name).message();
    }
  };
  EXPECT_EQ(shown("a\nb"), "a\\nb: node a\\nb: expected another");
  EXPECT_EQ(shown("\x1b[2J\r\t"), "\\x1b[2J\\r\\t: node \\x1b[2J\\r\\t: expected another");
  EXPECT_EQ(shown(std::string_view("\0", 1)), "\\x00: node \\x00: expected another");
  EXPECT_EQ(shown("\xff\xc3"), "\\xff\\xc3: node \\xff\\xc3: expected another"); // Invalid UTF-8.
  EXPECT_EQ(shown("\xc2\x85"), "\\x85: node \\x85: expected another");           // Ends a line.
  EXPECT_EQ(shown("\xe2\x80\xae"), "\\u202e: node \\u202e: expected another");   // Right-to-left override.
  EXPECT_EQ(shown("stra\xc3\x9f"
                  "e \xe6\x97\xa5 \\n"),
            "stra\xc3\x9f"
            "e \xe6\x97\xa5 \\n: node stra\xc3\x9f"
            "e \xe6\x97\xa5 \\n: expected another");
}

TEST(Error, LongMessageIsCutInTheMiddle) {
  const std::string name(1 << 20, 'x');
  try {
    fail(ErrorCode::bad_data, "node {}: expected another", name);
  } catch (const Error& error) {
    const Error shown = error.within(name).within("model.onnx");
    EXPECT_LT(shown.message().size(), 5000u);
    EXPECT_TRUE(shown.message().starts_with("model.onnx: xxx"));
    EXPECT_TRUE(shown.message().ends_with("xxx: expected another"));
  }
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
