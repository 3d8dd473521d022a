#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lanner/trace.h>

namespace lanner {
namespace {

TEST(Trace, JsonIsValidForATrackWithInvalidUtf8) {
  const Trace trace = Trace::create();
  trace.add({.name = "decode", .track = "clip \xff", .start = 0, .end = 1, .frame = 3});
  const auto json = nlohmann::json::parse(trace.to_json());
  EXPECT_EQ(json["traceEvents"][0]["args"]["name"], "clip \xef\xbf\xbd");
  EXPECT_EQ(json["traceEvents"][1]["args"]["frame"], 3);
}

} // namespace
} // namespace lanner
