// Values that may be absent: optional, optional_get_element, optional_has_element.

#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static bool is_optional(const Type& type) {
  return type.kind() == Type::Kind::optional;
}

static void infer_optional(InferContext& context) {
  if (context.has(0)) return context.set_output(0, Type::optional(context.input(0)));
  check(context.attributes().has("type"), ErrorCode::invalid_argument,
        "optional: neither an input nor the attribute type is given");
  context.set_output(0, Type::optional(context.attributes().get<Type>("type")));
}

static void run_optional(KernelContext& context) {
  Item item;
  if (context.has(0))
    item = context.item(0);
  else
    item.absent = true;
  context.set_item(0, std::move(item));
}

static void run_get_element(KernelContext& context) {
  const Item& item = context.item(0);
  check(!item.absent, ErrorCode::invalid_argument, "optional_get_element: the optional is empty");
  // A tensor is copied to the output's planned memory; a sequence is shared.
  if (item.is_sequence()) return context.set_item(0, item);
  copy_elements(item.tensor, context.allocate(0, item.tensor.dtype(), item.tensor.shape()));
}

static void infer_has_element(InferContext& context) {
  const Type type(DType::boolean, Dims{});
  context.set_output(0, type);
  if (!context.has(0))
    set_known_elements(context, 0, type, {Dim(0)});
  else if (!is_optional(context.input(0)))
    set_known_elements(context, 0, type, {Dim(1)});
}

std::vector<OpDef> optional_ops() {
  OpDef optional;
  optional.name = "optional";
  optional.max_inputs = 1;
  optional.operands = {any_operand("input")};
  optional.attributes = {optional_attribute("type", AttributeKind::type, any_value())};
  optional.infer = infer_optional;
  optional.reference = run_optional;

  OpDef get;
  get.name = "optional_get_element";
  get.min_inputs = get.max_inputs = 1;
  get.operands = {any_operand("input")};
  get.infer = [](InferContext& context) {
    const Type& type = context.input(0);
    context.set_output(0, is_optional(type) ? type.element() : type);
  };
  get.reference = run_get_element;

  OpDef has;
  has.name = "optional_has_element";
  has.max_inputs = 1;
  has.operands = {any_operand("input")};
  has.infer = infer_has_element;
  has.reference = [](KernelContext& context) {
    context.output(0).as<bool>()[0] = context.has(0) && !context.item(0).absent;
  };
  optional.traits = get.traits = has.traits = of_pattern(Pattern::container);
  return {optional, get, has};
}

} // namespace lanner::ops
