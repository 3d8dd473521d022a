#include "base/json.h"

#include <string>

#include "expect_error.h"

namespace lanner {
namespace {

TEST(Json, Parses) {
  const auto value = parse_json(R"({"a": [1, 2.5, "x"], "b": {"a": null}})");
  EXPECT_EQ(value["a"][2], "x");
}

TEST(Json, RefusesHostileText) {
  for (const char* bad : {"", "{", "[1,]", "{\"a\":1}x", "nul", "\"\xff\"", "[1e999]", "{\"a\" 1}"})
    LANNER_EXPECT_ERROR(parse_json(bad), ErrorCode::bad_data, "json");
  LANNER_EXPECT_ERROR(parse_json(R"({"a": 1, "b": {"a": 2}, "a": 3})"), ErrorCode::bad_data,
                      "\"a\" comes twice");
  LANNER_EXPECT_ERROR(parse_json(std::string(1'000'000, '[')), ErrorCode::limit_exceeded,
                      "nested deeper than 64");
  Limits limits;
  limits.nodes = 1;
  LANNER_EXPECT_ERROR(parse_json("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", limits), ErrorCode::limit_exceeded,
                      "more than 16 values");
}

TEST(Json, DepthIsExact) {
  Limits limits;
  limits.depth = 3;
  EXPECT_NO_THROW(parse_json("[[[1]]]", limits));
  LANNER_EXPECT_ERROR(parse_json("[[[[1]]]]", limits), ErrorCode::limit_exceeded, "deeper than 3");
}

} // namespace
} // namespace lanner
