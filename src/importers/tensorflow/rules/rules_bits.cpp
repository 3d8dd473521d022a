// Operators on the bits of integers.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* other_width = "the two types differ in width, so that the shape would change; cast to "
                                    "a type of the same width and reshape";

void bitcast(RuleContext& context) {
  Value* x = context.required(0);
  const DType to = context.dtype("type");
  check(bit_width(to) == bit_width(x->type.dtype()), ErrorCode::unsupported, "{}", other_width);
  context.set_output(0, context.emit("bit_cast", {x}, with("to", to)));
}

Rule shift(const char* direction) {
  return [direction](RuleContext& context) {
    context.set_output(0, context.emit("bit_shift", {context.required(0), context.required(1)},
                                       with("direction", std::string(direction))));
  };
}

Value* wide_number(RuleContext& context, std::uint64_t number) {
  return context.tensor(Tensor::scalar(number));
}

/// Counts in fields of 2, 4 and 8 bits, then adds the bytes by a product.
void population_count(RuleContext& context) {
  Value* x = context.required(0);
  const std::size_t width = bit_width(x->type.dtype());
  Value* bits = cast(context, x, DType::u64);
  if (width < 64) // of a negative number the sign fills the upper bits
    bits = context.emit("bitwise_and", {bits, wide_number(context, (std::uint64_t{1} << width) - 1)});
  const auto moved = [&](Value* value, std::uint64_t by) {
    return context.emit("bit_shift", {value, wide_number(context, by)},
                        with("direction", std::string("RIGHT")));
  };
  const auto masked = [&](Value* value, std::uint64_t mask) {
    return context.emit("bitwise_and", {value, wide_number(context, mask)});
  };
  constexpr std::uint64_t pairs = 0x5555555555555555, fours = 0x3333333333333333, eights = 0x0f0f0f0f0f0f0f0f;
  bits = context.emit("sub", {bits, masked(moved(bits, 1), pairs)});
  bits = context.emit("add", {masked(bits, fours), masked(moved(bits, 2), fours)});
  bits = masked(context.emit("add", {bits, moved(bits, 4)}), eights);
  bits = moved(context.emit("mul", {bits, wide_number(context, 0x0101010101010101)}), 56);
  context.set_output(0, cast(context, bits, DType::u8));
}

} // namespace

void add_bit_rules(Rules& rules) {
  rules["Bitcast"] = {bitcast, {other_width}};
  rules["BitwiseAnd"] = same("bitwise_and");
  rules["BitwiseOr"] = same("bitwise_or");
  rules["BitwiseXor"] = same("bitwise_xor");
  rules["Invert"] = same("bitwise_not");
  rules["LeftShift"] = shift("LEFT");
  rules["RightShift"] = shift("RIGHT");
  rules["PopulationCount"] = population_count;
}

} // namespace lanner::tensorflow
