#include <gtest/gtest.h>

#include "graph/parsed.h"

namespace lanner {

TEST(Constant, ReducedPrecisionStorageKeepsTheDeclaredType) {
  const auto graph = test::parsed(R"(graph @g() -> (%y: f32[2] as "y") {
    %w: f32[2] @ f16 = constant() {value = f16[2](hex 003e00c0)}
    %y: f32[2] = relu(%w)
  })");
  EXPECT_EQ(graph->body().nodes().front()->output()->type.to_string(), "f32[2]");
}

} // namespace lanner
