// docs/operands.md matches the table of operators. LANNER_WRITE_OPERANDS=1 writes it.

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "file_content.h"
#include "graph/op.h"
#include "ops/table/table.h"
#include "source_dir.h"

namespace lanner::test {
namespace {

std::string operand_text(const OpDef& op, std::size_t i) {
  const OperandSpec& operand = op.operands[i];
  std::string text = fmt::format("`{}` ", operand.name);
  const DTypeSet all = DTypeSet::all();
  if (operand.form == OperandForm::item) return text + "anything";
  if (operand.form == OperandForm::sequence) text += "sequence of ";
  text += operand.types == all ? "any" : operand.types.to_string();
  if (operand.group != 0) text += fmt::format(" ({})", operand.group);
  if (!operand.shape.any()) text += fmt::format(" `{}`", operand.shape.to_string());
  const bool list = op.max_inputs == OpDef::any && i + 1 == op.operands.size();
  if (list) return text + " ...";
  return static_cast<int>(i) >= op.min_inputs ? text + ", optional" : text;
}

std::string page() {
  std::string text = "# Operands of operators\n\n"
                     "Generated of the table of operators by `LANNER_WRITE_OPERANDS=1 build/bin/lanner_tests "
                     "--gtest_filter=OperandsPage.*`; do not edit.\n"
                     "Operands with the same letter in parentheses have one element type; the same letter in "
                     "brackets is one "
                     "size. What these rules cannot say (broadcasting, remainders) inference checks besides "
                     "([decision 038](decisions/038-operand-rules.md)).\n\n"
                     "| operator | operands |\n|---|---|\n";
  const OpTable& table = builtin_op_table();
  for (const std::string& name : table.names()) {
    const OpDef& op = table.get(name);
    std::string operands;
    for (std::size_t i = 0; i < op.operands.size(); ++i)
      operands += (i == 0 ? "" : "; ") + operand_text(op, i);
    text += fmt::format("| `{}` | {} |\n", name, operands);
  }
  return text;
}

} // namespace

TEST(OperandsPage, MatchesTheOperatorTable) {
  const auto path = source_dir() / "docs" / "operands.md";
  if (std::getenv("LANNER_WRITE_OPERANDS")) std::ofstream(path) << page();
  EXPECT_EQ(content_of(path), page()) << "LANNER_WRITE_OPERANDS=1 writes it";
}

} // namespace lanner::test
