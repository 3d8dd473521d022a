#include "base/check.h"
#include "base/limits/account.h"
#include "ops/elementwise/elementwise.h"
#include "ops/strings/regex.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

std::vector<OpDef> regex_full_match_ops() {
  OpDef op = elementwise_op("regex_full_match", 1);
  op.operands = {{"x", dtypes::strings}};
  op.attributes = {required_attribute("pattern", AttributeKind::string, any_text())};
  op.infer = [](InferContext& context) {
    check(context.input(0).dtype() == DType::string, ErrorCode::invalid_argument,
          "regex_full_match: input is {}, expected string", to_string(context.input(0).dtype()));
    context.set_output(0, context.input(0).with_dtype(DType::boolean));
  };
  op.reference = [](KernelContext& context) {
    const Regex regex(context.attributes().get<std::string>("pattern"));
    std::uint64_t matched = 0;
    map_elements<std::string, bool>(context.input(0), context.output(0), [&](const std::string& text) {
      if (matched++ % 64 == 0) check_deadline();
      return regex.full_match(text);
    });
  };
  op.traits = of_pattern(Pattern::text);
  return {op};
}

} // namespace lanner::ops
