// Runs the cases of tests/passes/*.ir. A file is named after the pass it tests; each case is
//
//   // case TITLE
//   // before
//   graph ...
//   // after
//   graph ...
//
// and passes when the pass, followed by drop_dead_nodes, gives exactly the text after, and both graphs
// compute the same results.

#include <array>
#include <set>

#include <gtest/gtest.h>

#include "graph/infer.h"
#include "graph/parsed.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "ir_cases.h"
#include "ops/interpreter/interpreter.h"
#include "passes/pipeline.h"

namespace lanner {

namespace {

std::vector<test::IrCase> all_cases() {
  return test::ir_cases("tests/passes", std::array<std::string_view, 2>{"before", "after"});
}

const Pass& find_pass(std::string_view name) {
  for (const std::span<const Pass> passes :
       {canonical_passes(), target_passes(DeviceKind::cuda), target_passes(DeviceKind::cpu)})
    for (const Pass& pass : passes)
      if (pass.name == name) return pass;
  throw Error(ErrorCode::not_found, fmt::format("there is no pass {}", name));
}

class PassCase : public testing::TestWithParam<test::IrCase> {};

TEST_P(PassCase, GivesTheTextAfterAndTheSameNumbers) {
  const test::IrCase& given = GetParam();
  const auto before = test::parsed(given.text("before"));
  const auto after = before->clone();
  find_pass(given.file).run(*after);
  find_pass("drop_dead_nodes").run(*after);
  verify(*after);
  EXPECT_EQ(print(*after), given.text("after"));
  const std::string typed = print(*after);
  infer_types(*after);
  EXPECT_EQ(print(*after), typed) << "the pass left types that differ from inference";
  const std::vector<Item> inputs = test::random_inputs(*before);
  const auto expected = run_reference(*before, inputs), found = run_reference(*after, inputs);
  ASSERT_EQ(expected.size(), found.size());
  const bool halves = given.text("before").find("f16[") != std::string::npos;
  for (std::size_t i = 0; i < expected.size(); ++i)
    test::expect_equal(expected[i], found[i], halves ? 4e-3 : 2e-5);
}

INSTANTIATE_TEST_SUITE_P(Passes, PassCase, testing::ValuesIn(all_cases()), test::ir_case_name);

TEST(Passes, EachPassHasCases) {
  std::set<std::string> tested;
  for (const test::IrCase& each : all_cases()) tested.insert(each.file);
  for (const Pass& pass : canonical_passes())
    EXPECT_TRUE(tested.contains(std::string(pass.name))) << pass.name;
}

} // namespace

} // namespace lanner
