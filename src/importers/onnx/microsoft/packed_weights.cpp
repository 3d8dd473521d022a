#include "importers/onnx/microsoft/packed_weights.h"

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"

namespace lanner::onnx {
namespace {

Value* byte_list(RuleContext& context, const std::vector<std::uint8_t>& values) {
  return context.tensor(Tensor::from<std::uint8_t>(values, {static_cast<std::int64_t>(values.size())}));
}

} // namespace

Value* numbers_at(RuleContext& context, Value* packed, std::int64_t bits,
                  const std::vector<std::uint8_t>& shifts) {
  Emitter emit(context);
  const std::size_t rank = known_rank(packed, "a tensor of packed numbers");
  check(rank >= 1, ErrorCode::bad_data, "a tensor of packed numbers is {}, expected 1 dim or more",
        packed->type.to_string());
  Value* moved = emit("bit_shift", {emit.unsqueeze(packed, {-1}), byte_list(context, shifts)},
                      {{"direction", std::string("RIGHT")}});
  Value* mask = byte_list(context, {static_cast<std::uint8_t>((1 << bits) - 1)});
  Value* numbers = emit("bitwise_and", {moved, mask});
  std::vector<Size> sizes(rank - 1, std::int64_t{0});
  sizes.emplace_back(std::int64_t{-1});
  return emit.reshape(numbers, sizes);
}

Value* unpacked_numbers(RuleContext& context, Value* packed, std::int64_t bits) {
  if (bits == 8) return packed;
  std::vector<std::uint8_t> shifts;
  for (std::int64_t shift = 0; shift < 8; shift += bits) shifts.push_back(static_cast<std::uint8_t>(shift));
  return numbers_at(context, packed, bits, shifts);
}

} // namespace lanner::onnx
