#include <gtest/gtest.h>

#include "graph/infer.h"
#include "graph/text.h"
#include "ops/table.h"

namespace lanner {

TEST(Constant, StoredInFewerBitsIsWhatWasDeclared) {
  const auto graph = parse_graph(R"(graph @g() -> (%y: f32[2] as "y") {
    %w: f32[2] @ f16 = constant() {value = f16[2](hex 003e00c0)}
    %y: f32[2] = relu(%w)
  })",
                                 builtin_op_table());
  infer_types(*graph);
  EXPECT_EQ(graph->body().nodes().front()->output()->type.to_string(), "f32[2]");
}

} // namespace lanner
