// Weights of a few bits that ONNX Runtime's quantisers and Olive write (docs/ContribOperators.md): they are
// unpacked, dequantised block by block and multiplied as any others. For constant weights this is done when
// the network is built, except that those of MatMulNBits stay numbers of 4 or 8 bits.

#include <cstdint>
#include <vector>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"
#include "importers/onnx/microsoft/packed_weights.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

std::int64_t checked_size(RuleContext& context, const char* name) {
  const auto size = context.get<std::int64_t>(name, "an integer");
  check(size >= 1 && size <= INT32_MAX, ErrorCode::bad_data, "attribute {} is {}, expected at least 1", name,
        size);
  return size;
}

std::int64_t checked_block(RuleContext& context, std::int64_t usual) {
  const std::int64_t size = context.integer("block_size", usual);
  check(size >= 16 && size <= INT32_MAX && (size & (size - 1)) == 0, ErrorCode::bad_data,
        "attribute block_size is {}, expected a power of two, 16 or more", size);
  return size;
}

std::int64_t checked_bits(RuleContext& context) {
  const std::int64_t bits = context.integer("bits", 4);
  check(bits == 2 || bits == 4 || bits == 8, ErrorCode::unsupported,
        "attribute bits is {}; this version supports 2, 4 and 8", bits);
  return bits;
}

/// Input B of MatMulNBits dequantised to [n, k]: bytes [n, blocks, bytes per block], and per block a scale
/// and optionally a zero point. Zero points are floating point or packed as the weights are; the default is
/// the middle of the range.
Value* block_weights(RuleContext& context, std::int64_t n, std::int64_t k) {
  Emitter emit(context);
  const std::int64_t bits = checked_bits(context), block = checked_block(context, 0);
  const std::int64_t blocks = (k + block - 1) / block;
  check(context.required(1)->type.dtype() == DType::u8, ErrorCode::unsupported, "input B is {}, expected u8",
        context.required(1)->type.to_string());
  Value* packed = emit.reshape(context.required(1), {n, blocks, block * bits / 8});
  Value* scale = emit.reshape(context.required(2), {n, blocks, 1});
  const DType type = scale->type.dtype();
  Value* zero = context.input(3);
  if (!zero) {
    zero = context.scalar(type, static_cast<double>(1 << (bits - 1)));
  } else if (zero->type.dtype() == DType::u8) {
    Value* rows = unpacked_numbers(context, emit.reshape(zero, {n, -1}), bits);
    zero = emit.cast(emit.reshape(emit.slice(rows, 1, 0, blocks), {n, blocks, 1}), type);
  } else {
    zero = emit.cast(emit.reshape(zero, {n, blocks, 1}), type);
  }
  Value* weights = emit.mul(emit.sub(emit.cast(unpacked_numbers(context, packed, bits), type), zero), scale);
  weights = emit.reshape(weights, {n, blocks * block});
  return blocks * block == k ? weights : emit.slice(weights, 1, 0, k);
}

/// The same weights [k, n] as dequantize_linear says them: numbers of 4 or 8 bits, which plans and kernels
/// keep, with a scale for each block of a column.
Value* stored_block_weights(RuleContext& context, std::int64_t n, std::int64_t k) {
  Emitter emit(context);
  const std::int64_t bits = checked_bits(context), block = checked_block(context, 0);
  const std::int64_t blocks = (k + block - 1) / block;
  // Two numbers of one byte are neighbours in a row.
  const bool narrow = bits <= 4 && n % 2 == 0;
  Value* const zero = context.input(3);
  const auto stored = [&](Value* numbers) {
    numbers = emit.transpose(numbers, {1, 0});
    if (zero) return narrow ? emit.cast(numbers, DType::u4) : numbers;
    // The middle of the range becomes 0, so that there is no zero point.
    Value* const wide = emit.cast(numbers, DType::i32);
    Value* const middle = context.scalar(DType::i32, static_cast<double>(1 << (bits - 1)));
    return emit.cast(emit.sub(wide, middle), narrow ? DType::i4 : DType::i8);
  };
  Value* const packed = emit.reshape(context.required(1), {n, blocks, block * bits / 8});
  Value* numbers = emit.reshape(unpacked_numbers(context, packed, bits), {n, blocks * block});
  if (blocks * block != k) numbers = emit.slice(numbers, 1, 0, k);
  std::vector<Value*> inputs = {stored(numbers),
                                emit.transpose(emit.reshape(context.required(2), {n, blocks}), {1, 0})};
  if (zero) {
    Value* const rows = unpacked_numbers(context, emit.reshape(zero, {n, -1}), bits);
    inputs.push_back(stored(emit.slice(rows, 1, 0, blocks)));
  }
  AttributeMap attributes;
  attributes.set("axis", std::int64_t{0});
  attributes.set("block_size", block);
  return context.emit("dequantize_linear", inputs, std::move(attributes));
}

/// Weights and zero points that are integers of the model.
bool keeps_numbers(RuleContext& context) {
  const Value *weights = context.required(1), *zero = context.input(3);
  return weights->constant() && weights->type.dtype() == DType::u8 &&
         (!zero || (zero->constant() && zero->type.dtype() == DType::u8));
}

void matmul_n_bits(RuleContext& context) {
  check(context.integer("weight_prepacked", 0) == 0, ErrorCode::unsupported,
        "attribute weight_prepacked is {}: the weights are laid out for one kind of GPU; export the model "
        "without it",
        context.integer("weight_prepacked", 0));
  check(!context.has(4), ErrorCode::unsupported, "input g_idx is given, which ONNX Runtime has removed");
  Emitter emit(context);
  const std::int64_t n = checked_size(context, "N"), k = checked_size(context, "K");
  Value* const weights = keeps_numbers(context) ? stored_block_weights(context, n, k)
                                                : emit.transpose(block_weights(context, n, k), {1, 0});
  Value* y = emit.matmul(context.required(0), weights);
  context.set_output(0, emit.add_optional(y, context.input(5)));
}

// Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs", 2023, appendix E, and the floating-point
// format of 4 bits that bitsandbytes pairs with it.
constexpr float normal_floats[16] = {-1.0F,
                                     -0.6961928009986877F,
                                     -0.5250730514526367F,
                                     -0.39491748809814453F,
                                     -0.28444138169288635F,
                                     -0.18477343022823334F,
                                     -0.09105003625154495F,
                                     0.0F,
                                     0.07958029955625534F,
                                     0.16093020141124725F,
                                     0.24611230194568634F,
                                     0.33791524171829224F,
                                     0.44070982933044434F,
                                     0.5626170039176941F,
                                     0.7229568362236023F,
                                     1.0F};
constexpr float four_bit_floats[16] = {
    0.0F,  0.00520833333F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -0.00520833333F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};

/// Input B dequantised to [n, k]: two numbers per byte, the first in the high bits, and the absolute maximum
/// of each block.
Value* table_weights(RuleContext& context, std::int64_t n, std::int64_t k) {
  Emitter emit(context);
  const auto kind = context.get<std::int64_t>("quant_type", "an integer");
  check(kind == 0 || kind == 1, ErrorCode::bad_data,
        "attribute quant_type is {}, expected 0 (FP4) or 1 (NF4)", kind);
  const std::int64_t block = checked_block(context, 0), count = n * k, blocks = (count + block - 1) / block;
  Value* largest = emit.reshape(context.required(2), {blocks, 1});
  Value* table = context.tensor(
      Tensor::from<float>(std::span<const float>(kind == 1 ? normal_floats : four_bit_floats), {16}));
  Value* places = numbers_at(context, emit.flat(context.required(1)), 4, {4, 0});
  Value* numbers = emit.gather(table, emit.cast(emit.slice(places, 0, 0, count), DType::i32), 0);
  numbers =
      emit.cast(emit("pad", {numbers, context.ints({0, blocks * block - count})}), largest->type.dtype());
  Value* weights = emit.mul(emit.reshape(numbers, {blocks, block}), largest);
  return emit.reshape(emit.slice(emit.flat(weights), 0, 0, count), {n, k});
}

void matmul_bnb4(RuleContext& context) {
  Emitter emit(context);
  Value* weights = table_weights(context, checked_size(context, "N"), checked_size(context, "K"));
  const bool turned = context.integer("transB", 1) != 0;
  context.set_output(0, emit.matmul(context.required(0), turned ? emit.transpose(weights, {1, 0}) : weights));
}

/// A quantised embedding table: only the rows that are looked up are dequantised.
struct BlockTable {
  Value *data, *scales, *zeros; ///< Numbers, one or more to a byte; zeros may be null.
};

Value* reals_of(RuleContext& context, const BlockTable& table, std::int64_t axis, std::int64_t block) {
  std::vector<Value*> inputs = {table.data, table.scales};
  if (table.zeros) inputs.push_back(table.zeros);
  AttributeMap attributes;
  attributes.set("axis", axis);
  attributes.set("block_size", block);
  return context.emit("dequantize_linear", inputs, std::move(attributes));
}

/// Unpacks to 8-bit numbers. The default zero point of u8 data is the middle of the range.
BlockTable whole_bytes(RuleContext& context, BlockTable table, std::int64_t bits) {
  Emitter emit(context);
  const DType type = table.data->type.dtype();
  if (type == DType::u8) {
    table.data = unpacked_numbers(context, table.data, bits);
    if (table.zeros)
      table.zeros =
          emit.slice(unpacked_numbers(context, table.zeros, bits), -1, 0, emit.size(table.scales, -1));
    else
      table.zeros = emit("expand", {context.scalar(type, static_cast<double>(1 << (bits - 1))),
                                    emit("shape", {table.scales})});
    return table;
  }
  check(type == DType::i4 || type == DType::u4, ErrorCode::unsupported,
        "input data is {}, expected i4, u4 or u8", table.data->type.to_string());
  const DType wide = type == DType::i4 ? DType::i8 : DType::u8;
  table.data = emit.cast(table.data, wide);
  if (table.zeros) table.zeros = emit.cast(table.zeros, wide);
  return table;
}

void gather_block_quantized(RuleContext& context) {
  Emitter emit(context);
  BlockTable table{context.required(0), context.required(2), context.input(3)};
  Value* places = context.required(1);
  const auto rank = static_cast<std::int64_t>(known_rank(table.data, "the table"));
  const auto axis_of = [&](const char* name, std::int64_t usual) {
    const std::int64_t axis = context.integer(name, usual);
    check(axis >= -rank && axis < rank, ErrorCode::bad_data, "attribute {} is {} for a table of rank {}",
          name, axis, rank);
    return axis < 0 ? axis + rank : axis;
  };
  const std::int64_t gathered = axis_of("gather_axis", 0), blocked = axis_of("quantize_axis", 1);
  const std::int64_t block = checked_block(context, 128), bits = checked_bits(context);
  const bool packed = table.data->type.dtype() == DType::u8 && bits < 8;
  check(!packed || (gathered != rank - 1 && gathered != blocked), ErrorCode::unsupported,
        "attribute gather_axis is {}, along which numbers are packed or blocked", gathered);
  if (!packed) table = whole_bytes(context, table, bits);
  if (gathered == blocked)
    return context.set_output(0, emit.gather(reals_of(context, table, blocked, block), places, gathered));
  table.data = emit.gather(table.data, places, gathered);
  table.scales = emit.gather(table.scales, places, gathered);
  if (table.zeros) table.zeros = emit.gather(table.zeros, places, gathered);
  if (packed) table = whole_bytes(context, table, bits);
  const auto added = static_cast<std::int64_t>(known_rank(places, "the indices")) - 1;
  context.set_output(0, reals_of(context, table, blocked < gathered ? blocked : blocked + added, block));
}

} // namespace

void add_microsoft_weight_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  rules[domain + "MatMulNBits"] = matmul_n_bits;
  rules[domain + "MatMulBnb4"] = matmul_bnb4;
  rules[domain + "GatherBlockQuantized"] = gather_block_quantized;
}

} // namespace lanner::onnx
