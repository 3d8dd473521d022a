#include "base/text/json.h"

#include <string>

#include <fmt/format.h>

#include "expect_error.h"

namespace lanner {
namespace {

TEST(Json, Parses) {
  const auto value = parse_json(R"({"a": [1, 2.5, "x"], "b": {"a": null}})");
  EXPECT_EQ(value["a"][2], "x");
}

TEST(Json, InvalidTextIsRefused) {
  for (const char* bad : {"", "{", "[1,]", "{\"a\":1}x", "nul", "\"\xff\"", "[1e999]", "{\"a\" 1}"})
    LANNER_EXPECT_ERROR(parse_json(bad), ErrorCode::bad_data, "json");
  LANNER_EXPECT_ERROR(parse_json(R"({"a": 1, "b": {"a": 2}, "a": 3})"), ErrorCode::bad_data,
                      "\"a\" appears twice");
  LANNER_EXPECT_ERROR(parse_json(std::string(1'000'000, '[')), ErrorCode::limit_exceeded,
                      "nested deeper than 64");
  Limits limits;
  limits.nodes = 1;
  LANNER_EXPECT_ERROR(parse_json("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", limits), ErrorCode::limit_exceeded,
                      "more than 16 values");
}

TEST(Json, KeepsEveryKindOfValue) {
  const std::string text =
      R"({"a":[],"b":{},"c":[[1,-2,18446744073709551615],{"d":null}],"e":true,"f":"x","g":0.5})";
  EXPECT_EQ(exact_json_text(parse_json(text)), text);
  EXPECT_EQ(exact_json_text(parse_json("7")), "7");
}

/// In arrays and objects each member was compared with all others: hours for what a plan may contain.
TEST(Json, ObjectWithManyMembersParsesInLinearTime) {
  constexpr int count = 300'000;
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}\"w{}\":[{{}}]", i ? "," : "", i);
  EXPECT_EQ(parse_json(text + "}").size(), static_cast<std::size_t>(count));
  auto object = nlohmann::ordered_json::object();
  for (int i = 0; i < count; ++i) append(object, fmt::format("w{}", i), i);
  EXPECT_EQ(object.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(object.back(), count - 1);
}

TEST(Json, DepthIsExact) {
  Limits limits;
  limits.depth = 3;
  EXPECT_NO_THROW(parse_json("[[[1]]]", limits));
  LANNER_EXPECT_ERROR(parse_json("[[[[1]]]]", limits), ErrorCode::limit_exceeded, "deeper than 3");
}

} // namespace
} // namespace lanner
