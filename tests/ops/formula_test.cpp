#include "ops/elementwise/formula.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "ops/table/table.h"

namespace lanner {
namespace {

TEST(Formulas, have_unique_names_and_indices) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const Formula& each : all_formulas()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_EQ(each.index, index++) << each.name;
    EXPECT_EQ(find_formula(each.name), &each);
  }
  EXPECT_EQ(find_formula("no_such"), nullptr);
  LANNER_EXPECT_ERROR(formula("no_such"), ErrorCode::internal, "there is no formula no_such");
}

TEST(Formulas, are_written_in_cuda) {
  EXPECT_EQ(formula("relu").cuda, "at_least({x}, 0x0p+0f)");
  EXPECT_EQ(formula("leaky_relu").cuda, "(({x} < 0x0p+0f) ? ({x} * {p}) : {x})");
  EXPECT_EQ(formula("hard_sigmoid").cuda, "at_most(at_least(fmaf({x}, {p}, {q}), 0x0p+0f), 0x1p+0f)");
  EXPECT_EQ(formula("less").cuda, "truth(({x} < {y}))");
  EXPECT_EQ(formula("where").cuda, "(({x} != 0x0p+0f) ? {y} : {z})");
}

TEST(Formulas, have_cost_classes) {
  EXPECT_EQ(formula("relu").weight, FormulaWeight::light);
  EXPECT_EQ(formula("celu").weight, FormulaWeight::heavy);
  EXPECT_EQ(formula("atanh").weight, FormulaWeight::library);
  EXPECT_TRUE(formula("is_nan").truth);
  EXPECT_FALSE(formula("sign").truth);
}

TEST(Formulas, take_their_numbers_from_attributes) {
  AttributeMap attributes;
  EXPECT_EQ(call_of(formula("selu"), attributes).numbers, (Numbers{1.6732632F, 1.050701F}));
  attributes.set("lambd", 0.25);
  EXPECT_EQ(call_of(formula("shrink"), attributes).numbers, (Numbers{0, 0.25F}));
  EXPECT_EQ(call_of(formula("gelu"), attributes).formula, &formula("gelu"));
  attributes.set("approximate", std::string("tanh"));
  EXPECT_EQ(call_of(formula("gelu"), attributes).formula, &formula("gelu_by_tanh"));
}

TEST(Formulas, match_the_operators_defaults) {
  for (const Formula& each : all_formulas()) {
    const OpDef* op = builtin_op_table().find(each.name);
    if (!op) continue;
    EXPECT_TRUE(op->elementwise) << each.name;
    for (int i = 0; i < each.number_count; ++i) {
      const FormulaNumber& number = each.numbers[static_cast<std::size_t>(i)];
      if (number.attribute.empty()) continue;
      const auto found = std::ranges::find(op->attributes, number.attribute, &AttributeSpec::name);
      ASSERT_NE(found, op->attributes.end()) << each.name;
      EXPECT_EQ(std::get<double>(*found->fallback), number.fallback) << each.name;
    }
  }
}

} // namespace
} // namespace lanner
