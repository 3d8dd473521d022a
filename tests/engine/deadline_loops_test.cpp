// Loops whose length a file or tensor decides poll deadlines and cancellation: each ends at once in a call
// that is already cancelled.

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/cancel.h>

#include "base/limits/account.h"
#include "base/parts.h"
#include "base/text/json.h"
#include "engine/plan_file/plan_layout.h"
#include "expect_error.h"
#include "graph/parsed.h"
#include "graph/text/tensor_text.h"
#include "graph/text/text.h"
#include "program/lowered/portable.h"
#include "program/memory/memory.h"

namespace lanner {
namespace {

constexpr std::int64_t many = 1 << 17;

void expect_cancelled(const std::function<void()>& work) {
  ASSERT_NO_THROW(work());
  const CancelToken cancel = CancelToken::create();
  cancel.cancel();
  const DeadlineScope scope(Limits{}, cancel);
  LANNER_EXPECT_ERROR(work(), ErrorCode::cancelled, "cancelled by the caller");
}

TEST(DeadlineLoops, ElementsOfDrawnConstants) {
  expect_cancelled([] { random_tensor(DType::f32, {many}, 1, 1.0, {}); });
}

TEST(DeadlineLoops, ElementsOfConstantsInTexts) {
  std::string values = "0";
  for (std::int64_t i = 1; i < many; ++i) values += ", 0";
  const std::string text =
      fmt::format("graph @g() -> (%y as \"y\") {{\n  %y: i64[{}] = constant() {{value = i64[{}]({})}}\n}}",
                  many, many, values);
  expect_cancelled([&] { test::parsed(text); });
}

TEST(DeadlineLoops, NodesOfTexts) {
  const std::string text = "graph @g(%x: f32[1]) -> (%y as \"y\") {\n  %y: f32[1] = neg(%x)\n}";
  expect_cancelled([&] { test::parsed(text); });
  const auto graph = test::parsed(text);
  expect_cancelled([&] { print(*graph); });
  expect_cancelled([&] { check_portable(*graph); });
}

TEST(DeadlineLoops, ValuesOfJson) {
  std::string list = "[0";
  for (std::int64_t i = 1; i < many; ++i) list += ",0";
  expect_cancelled([&] { parse_json(list + "]"); });
}

TEST(DeadlineLoops, BytesOfPlans) {
  const std::vector<std::byte> bytes(100);
  expect_cancelled([&] {
    const SafetensorsItem item{"w", DType::u8, {100}, bytes};
    plan_digest({}, {&item, 1});
  });
  expect_cancelled([&] { for_each_part(bytes, {}, [](std::span<const std::byte>) {}); });
}

TEST(DeadlineLoops, BuffersOfArenas) {
  const std::vector<BufferRequest> requests(10, {64, {0, 1}});
  expect_cancelled([&] { plan_arena(requests); });
  expect_cancelled([&] { plan_arena(requests, 64, 0); });
  expect_cancelled([&] { fit_into(requests, 128); });
}

} // namespace
} // namespace lanner
