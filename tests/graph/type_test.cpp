#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/type/type.h"

namespace lanner {

TEST(Type, PrintsAndParsesTheSame) {
  for (const char* text :
       {"f32[N, 3, 224, 224]", "f32[*]", "i64[]", "seq(i64[2])", "opt(seq(bf16[(N + 1) // 2]))", "string[0]"})
    EXPECT_EQ(Type::parse(text).to_string(), text);
}

TEST(Type, InvalidTextIsRefused) {
  for (const char* text :
       {"", "f32", "f32[", "f32[-1]", "g32[1]", "seq(f32[1]", "f32[1,]", "f32[1] x", "seq[1]"})
    LANNER_EXPECT_ERROR(Type::parse(text), ErrorCode::bad_data, "1:");
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "seq(";
  LANNER_EXPECT_ERROR(Type::parse(deep), ErrorCode::limit_exceeded, "limit depth of 64");
}

TEST(Type, AccessToMissingPartsFails) {
  const Type type = Type::parse("f32[N, 3]");
  EXPECT_FALSE(type.is_static());
  EXPECT_EQ(type.substitute({{"N", 2}}).shape(), (Shape{2, 3}));
  EXPECT_FALSE(Type::unranked(DType::f32).ranked());
  EXPECT_EQ(Type::sequence(type).element(), type);
  LANNER_EXPECT_ERROR(type.shape(), ErrorCode::internal, "f32[N, 3]");
  LANNER_EXPECT_ERROR(Type::sequence(type).dtype(), ErrorCode::invalid_argument, "seq");
  LANNER_EXPECT_ERROR(Type::unranked(DType::f32).dims(), ErrorCode::invalid_argument, "f32[*]");
}

} // namespace lanner
