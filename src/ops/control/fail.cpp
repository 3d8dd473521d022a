// Ends a run: it replaces a branch whose nodes do not fit the known sizes.

#include "base/check.h"
#include "graph/failing.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_fail(InferContext& context) {
  const auto& types = context.attributes().get<std::vector<std::string>>("types");
  check(types.size() == context.outputs(), ErrorCode::invalid_argument,
        "fail: {} types for {} outputs; expected one each", types.size(), context.outputs());
  for (std::size_t i = 0; i < types.size(); ++i) context.set_output(i, Type::parse(types[i]));
}

static void run_fail(KernelContext& context) {
  fail(ErrorCode::invalid_argument,
       "the branch taken does not fit: {}; give sizes that it accepts, or inputs that take the other "
       "one",
       context.attributes().get<std::string>("why"));
}

std::vector<OpDef> fail_ops() {
  OpDef op;
  op.name = fail_kind;
  op.min_outputs = 0;
  op.max_outputs = OpDef::any;
  op.attributes = {required_attribute("types", AttributeKind::strings, any_text()),
                   required_attribute("why", AttributeKind::string, any_text())};
  op.infer = infer_fail;
  op.reference = run_fail;
  op.traits = of_pattern(Pattern::generation);
  return {op};
}

} // namespace lanner::ops
