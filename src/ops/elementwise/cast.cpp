// Conversions of the element type: of values (cast, cast_like) and of bits (bit_cast).

#include <cstring>

#include "base/check.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"
#include "tensor/cast.h"

namespace lanner::ops {

static CastRules cast_rules(const AttributeMap& attributes) {
  CastRules rules;
  rules.saturate = attributes.flag("saturate", true);
  const std::string mode = attributes.string("round_mode", "up");
  if (mode == "down")
    rules.power_rounding = PowerRounding::down;
  else if (mode == "nearest")
    rules.power_rounding = PowerRounding::nearest;
  else
    check(mode == "up", ErrorCode::invalid_argument,
          "round_mode is \"{}\", expected \"up\", \"down\" or \"nearest\"", mode);
  return rules;
}

static void propagate_cast(InferContext& context, const Type& type) {
  const Known& known = context.known(0);
  if (known.tensor && known.tensor->elements() <= max_known_elements) {
    Tensor value = Tensor::allocate(type.dtype(), known.tensor->shape());
    copy_tensor(*known.tensor, value, cast_rules(context.attributes()));
    context.set_known(0, known_tensor(std::move(value)));
  } else if (known.elements && is_integer(type.dtype()) && bit_width(type.dtype()) >= 32) {
    // Sizes that a model casts to 32 bits fit them.
    set_known_elements(context, 0, type, *known.elements);
  }
}

static void infer_cast_to(InferContext& context, DType to) {
  const Type type = context.input(0).with_dtype(to);
  context.set_output(0, type);
  propagate_cast(context, type);
}

static void run_cast(KernelContext& context) {
  copy_tensor(context.input(0), context.output(0), cast_rules(context.attributes()));
}

static void infer_bit_cast(InferContext& context) {
  const DType from = context.input(0).dtype(), to = context.attributes().get<DType>("to");
  check(from != DType::string && bit_width(from) == bit_width(to), ErrorCode::invalid_argument,
        "bit_cast: {} to {}, expected types of the same width", to_string(from), to_string(to));
  context.set_output(0, context.input(0).with_dtype(to));
}

static void run_bit_cast(KernelContext& context) {
  Tensor& out = context.output(0);
  if (out.bytes() == 0) return;
  std::memmove(out.data(), context.input(0).data(), out.bytes());
  // A boolean is one of two byte values; all but 0 mean true.
  if (out.dtype() != DType::boolean) return;
  auto* const truths = static_cast<std::uint8_t*>(out.data());
  for (std::size_t i = 0; i < out.bytes(); ++i) truths[i] = truths[i] != 0 ? 1 : 0;
}

std::vector<OpDef> cast_ops() {
  const std::vector<AttributeSpec> rules = {
      flag_attribute("saturate", true),
      string_attribute("round_mode", "up", one_of({"up", "down", "nearest"}))};
  OpDef cast = elementwise_op("cast", 1);
  cast.operands = {{"x", dtypes::any}};
  cast.attributes = rules;
  cast.attributes.push_back(required_attribute("to", AttributeKind::dtype, element_types(dtypes::any)));
  cast.infer = [](InferContext& context) { infer_cast_to(context, context.attributes().get<DType>("to")); };
  cast.reference = run_cast;
  cast.traits = {.pattern = Pattern::movement,
                 .discontinuous = true,
                 .range = preserved_range(),
                 .split = splits_elements};

  // Only the type of the second input is used, none of its elements: not elementwise.
  OpDef cast_like;
  cast_like.name = "cast_like";
  cast_like.min_inputs = cast_like.max_inputs = 2;
  cast_like.operands = {{"x", dtypes::any}, {"like", dtypes::any}};
  cast_like.attributes = rules;
  cast_like.infer = [](InferContext& context) { infer_cast_to(context, context.input(1).dtype()); };
  cast_like.reference = run_cast;
  cast_like.traits = {.pattern = Pattern::movement, .discontinuous = true, .type_bound = true};

  OpDef bit_cast = elementwise_op("bit_cast", 1);
  bit_cast.operands = {{"x", dtypes::any}};
  bit_cast.attributes = {required_attribute("to", AttributeKind::dtype, element_types(dtypes::any))};
  bit_cast.infer = infer_bit_cast;
  bit_cast.reference = run_bit_cast;
  bit_cast.traits = {.pattern = Pattern::movement, .discontinuous = true, .type_bound = true};
  return {cast, cast_like, bit_cast};
}

} // namespace lanner::ops
