#include "backends/contraction/epilogue_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/contraction/contraction_kernel.h"
#include "backends/cpu/bf16.h"
#include "backends/elementwise/instruction.h"
#include "ops/elementwise/quantization.h"

namespace lanner {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Bounds of a step that only clamps.
struct Bounds {
  float low = -infinity, high = infinity;
};
std::optional<Bounds> bounds_of(const ContractionStep& step) {
  if (step.operand || step.rounded) return std::nullopt;
  if (step.formula->name == "relu") return Bounds{0, infinity};
  if (step.formula->name != "clip" || std::isnan(step.numbers.p) || std::isnan(step.numbers.q))
    return std::nullopt;
  return Bounds{step.numbers.p, step.numbers.q};
}

bool adds_bytes(const ContractionStep& step) {
  return step.stored && !step.rounded && step.formula->name == "add";
}
/// A value that is stored as bf16, of a contraction of reals.
bool is_bf16(const ContractionStep& step) {
  return step.operand.is_input() && step.spread == Spread::full;
}

/// The stored number of a bound.
std::int32_t stored_bound(float bound, const ByteScale& by, const ops::StoredRange& range) {
  return static_cast<std::int32_t>(ops::quantized(bound / by.scale, by.zero, range));
}

double operations_of(FormulaWeight weight) {
  return weight == FormulaWeight::light ? 12 : weight == FormulaWeight::heavy ? 60 : 1100;
}

} // namespace

double epilogue_operations(const Contraction& contraction) {
  constexpr double of_sum = 14, of_bytes = 8;
  // Of bf16, which processors with tiles round in one instruction.
  constexpr double of_real_sum = 4, of_added_real = 3;
  double operations = contraction.reals() ? of_real_sum : of_sum;
  for (const ContractionStep& step : contraction.steps) {
    if (bounds_of(step)) continue;
    if (contraction.reals() && is_bf16(step) && step.formula->name == "add")
      operations += of_added_real;
    else
      operations += step.stored ? of_bytes : operations_of(step.formula->weight);
  }
  return operations;
}

EpilogueRows::EpilogueRows(const Contraction& contraction, const Preparation& preparation,
                           const BlockFunctions& functions, std::int64_t padded, std::int64_t out_distance)
    : functions_(functions), steps_(contraction.steps), quantised_(contraction.quantised),
      type_(contraction.type), reals_(contraction.reals()), columns_(contraction.columns()),
      out_distance_(out_distance), low_(-infinity), high_(infinity) {
  read_scales(contraction, preparation, padded);
  read_direct(contraction);
}

void EpilogueRows::read_scales(const Contraction& contraction, const Preparation& preparation,
                               std::int64_t padded) {
  const auto numbers = [&](const Operand& operand) {
    return column_numbers(operand, columns_, operand ? prepared_constant(operand, preparation) : nullptr);
  };
  const std::vector<double> scales = contraction.reals()
                                         ? std::vector(static_cast<std::size_t>(columns_), 1.0)
                                         : numbers(contraction.weight_scale);
  // Sums of reals begin with it.
  const std::vector<double> bias =
      contraction.reals() ? std::vector(static_cast<std::size_t>(columns_), 0.0) : numbers(contraction.bias);
  multiplier_.assign(static_cast<std::size_t>(padded), 0.0F);
  bias_.assign(static_cast<std::size_t>(padded), 0.0F);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    multiplier_[i] = static_cast<float>(scales[i] * static_cast<double>(contraction.x.by.scale));
    bias_[i] = static_cast<float>(bias[i]);
  }
}

/// Where the steps are at most a rounding to bytes, an addition of bytes and a clamp, the result is made in
/// registers: for bytes in the quantised domain, that is with everything divided by the result's scale.
void EpilogueRows::read_direct(const Contraction& contraction) {
  auto step = steps_.begin();
  const ContractionStep* rounding = nullptr;
  if (quantised_ && step != steps_.end() && step->rounded) rounding = &*step++;
  std::optional<StoredBytes> added;
  if (quantised_ && step != steps_.end() && adds_bytes(*step)) {
    added = StoredBytes{step->operand, *step->stored};
    ++step;
  } else if (reals_ && step != steps_.end() && is_bf16(*step) && step->formula->name == "add") {
    added = StoredBytes{step->operand, {}};
    ++step;
  }
  Bounds bounds;
  if (step != steps_.end())
    if (const auto found = bounds_of(*step)) {
      bounds = *found;
      ++step;
    }
  direct_ = step == steps_.end();
  if (!quantised_) {
    if (!direct_) return;
    low_ = bounds.low;
    high_ = bounds.high;
    added_ = added;
    return;
  }
  const ops::StoredRange range = *ops::stored_range(type_);
  least_ = static_cast<std::int32_t>(range.least);
  most_ = static_cast<std::int32_t>(range.most);
  added_ = added;
  direct_ = direct_ && is_bounded(contraction, rounding);
  if (!direct_) return added_.reset();
  // The upper bound is the last to be applied.
  most_ = stored_bound(bounds.high, *quantised_, range);
  least_ = std::min(stored_bound(bounds.low, *quantised_, range), most_);
  divide_by_scale(contraction, rounding);
}

/// Whether all numbers before rounding are finite and within what the fast functions convert.
bool EpilogueRows::is_bounded(const Contraction& contraction, const ContractionStep* rounding) const {
  constexpr double any_byte = 256;
  const double sum = 255.0 * 255.0 * static_cast<double>(contraction.depth());
  const double more = added_ ? any_byte * static_cast<double>(added_->by.scale) : 0;
  const auto result = static_cast<double>(quantised_->scale);
  const double first = rounding ? static_cast<double>(rounding->stored->scale) : result;
  if (rounding && !(any_byte * first + more < rounding_bound * result)) return false;
  for (std::size_t i = 0; i < bias_.size(); ++i) {
    const double bias = std::abs(static_cast<double>(bias_[i]));
    const double most = sum * static_cast<double>(multiplier_[i]) + bias + (rounding ? 0 : more);
    if (!(most < rounding_bound * first)) return false; // NaN compares false.
  }
  return true;
}

void EpilogueRows::divide_by_scale(const Contraction& contraction, const ContractionStep* rounding) {
  const double shift = added_ ? static_cast<double>(added_->by.scale) * added_->by.zero : 0;
  const auto result = static_cast<double>(quantised_->scale);
  const double first = rounding ? static_cast<double>(rounding->stored->scale) : result;
  const std::vector<double> scales = column_numbers(contraction.weight_scale, columns_);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    // In double, so that each is rounded once.
    multiplier_[i] = static_cast<float>(scales[i] * static_cast<double>(contraction.x.by.scale) / first);
    bias_[i] = static_cast<float>((static_cast<double>(bias_[i]) - (rounding ? 0 : shift)) / first);
  }
  if (!rounding) return;
  const ops::StoredRange range = *ops::stored_range(*rounding->rounded);
  const double zero = rounding->stored->zero;
  inner_ = InnerRounding{static_cast<float>(static_cast<double>(range.least) - zero),
                         static_cast<float>(static_cast<double>(range.most) - zero),
                         static_cast<float>(first / result), static_cast<float>(-shift / result)};
}

template<>
void EpilogueRows::finish(const std::int32_t* sums, const BlockFinish& finish, DType type) const {
  (type == DType::f32 ? functions_.finish_f32 : functions_.finish_bytes)(sums, finish);
}
template<>
void EpilogueRows::finish(const float* sums, const BlockFinish& finish, DType type) const {
  if (type == DType::bf16) return functions_.finish_bf16(sums, finish);
  (type == DType::f32 ? functions_.finish_depthwise_f32 : functions_.finish_depthwise_bytes)(sums, finish);
}

template<typename Sum>
void EpilogueRows::write(const Launch& launch, Sum* sums, std::int64_t stride, const ResultPiece& piece,
                         float* operand) const {
  const std::int64_t element = static_cast<std::int64_t>(bit_width(type_)) / 8;
  BlockFinish f{.rows = piece.rows,
                .columns = piece.columns,
                .sums_stride = stride,
                .multiplier = multiplier_.data() + piece.column,
                .bias = bias_.data() + piece.column,
                .added = nullptr,
                .added_stride = columns_ * element,
                .added_signed = false,
                .added_scale = 0,
                .inner = inner_ ? &*inner_ : nullptr,
                .low = low_,
                .high = high_,
                .zero = quantised_ ? quantised_->zero : 0,
                .least = least_,
                .most = most_,
                .is_signed = type_ == DType::i8,
                .out = static_cast<std::byte*>(launch.outputs[0]) +
                       (piece.row * out_distance_ + piece.column) * element,
                .out_stride = out_distance_ * element};
  if (added_) {
    f.added = static_cast<const std::byte*>(launch.inputs[added_->operand.index]) +
              (piece.row * columns_ + piece.column) * element;
    f.added_signed = added_->is_signed();
    if (quantised_) f.added_scale = added_->by.scale / quantised_->scale;
  }
  if (direct_) return finish(sums, f, type_);
  BlockFinish reals = f;
  reals.low = -infinity;
  reals.high = infinity;
  reals.out = reinterpret_cast<std::byte*>(sums);
  reals.out_stride = 4 * stride;
  finish(sums, reals, DType::f32);
  write_by_steps(launch, reinterpret_cast<float*>(sums), piece, f, operand);
}

template void EpilogueRows::write(const Launch&, std::int32_t*, std::int64_t, const ResultPiece&,
                                  float*) const;
template void EpilogueRows::write(const Launch&, float*, std::int64_t, const ResultPiece&, float*) const;

/// `y`: the reals that the steps begin with.
void EpilogueRows::write_by_steps(const Launch& launch, float* y, const ResultPiece& piece,
                                  const BlockFinish& finish, float* operand) const {
  for (const ContractionStep& step : steps_) apply(launch, step, y, finish.sums_stride, piece, operand);
  if (quantised_) return functions_.quantise(y, quantised_->scale, finish);
  if (reals_) {
    for (std::int64_t row = 0; row < piece.rows; ++row)
      bf16_functions().write(y + row * finish.sums_stride,
                             reinterpret_cast<Bf16*>(finish.out + row * finish.out_stride), piece.columns);
    return;
  }
  for (std::int64_t row = 0; row < piece.rows; ++row)
    std::memcpy(finish.out + row * finish.out_stride, y + row * finish.sums_stride,
                sizeof(float) * static_cast<std::size_t>(piece.columns));
}

/// quantize_linear and dequantize_linear of each row; `bytes` has room for one.
void EpilogueRows::round(const ContractionStep& step, float* y, std::int64_t stride, const ResultPiece& piece,
                         std::byte* bytes) const {
  const ops::StoredRange range = *ops::stored_range(*step.rounded);
  const bool is_signed = *step.rounded == DType::i8;
  const BlockFinish row_of{.rows = 1,
                           .columns = piece.columns,
                           .sums_stride = stride,
                           .multiplier = nullptr,
                           .bias = nullptr,
                           .added = nullptr,
                           .added_stride = 0,
                           .added_signed = false,
                           .added_scale = 0,
                           .inner = nullptr,
                           .low = 0,
                           .high = 0,
                           .zero = step.stored->zero,
                           .least = static_cast<std::int32_t>(range.least),
                           .most = static_cast<std::int32_t>(range.most),
                           .is_signed = is_signed,
                           .out = bytes,
                           .out_stride = 0};
  for (std::int64_t row = 0; row < piece.rows; ++row, y += stride) {
    functions_.quantise(y, step.stored->scale, row_of);
    functions_.dequantise(bytes, piece.columns, is_signed, static_cast<float>(step.stored->zero),
                          step.stored->scale, y);
  }
}

/// One step on all rows.
void EpilogueRows::apply(const Launch& launch, const ContractionStep& step, float* y, std::int64_t stride,
                         const ResultPiece& piece, float* operand) const {
  if (step.rounded) return round(step, y, stride, piece, reinterpret_cast<std::byte*>(operand));
  if (step.operand && step.spread == Spread::scalar) {
    const float number = *static_cast<const float*>(bytes_of(step.operand, launch));
    const ActivationCall call = *scalar_call(step.formula->name, number, step.reversed);
    return apply(launch, {call.formula, {call.alpha, call.beta}, {}, Spread::full, false, {}}, y, stride,
                 piece, operand);
  }
  const TileFunction function = tile_functions()[*step.formula];
  if (!step.operand && piece.columns + functions_.width > stride) // Padding is not worth a call for each row.
    return function(y, y, nullptr, nullptr, (piece.rows - 1) * stride + piece.columns, step.numbers);
  for (std::int64_t row = 0; row < piece.rows; ++row, y += stride) {
    if (!step.operand) {
      function(y, y, nullptr, nullptr, piece.columns, step.numbers);
      continue;
    }
    const std::int64_t at = (step.spread == Spread::full ? (piece.row + row) * columns_ : 0) + piece.column;
    const void* bytes = bytes_of(step.operand, launch);
    const bool real = reals_ && is_bf16(step);
    const float* with = step.stored || real ? operand : static_cast<const float*>(bytes) + at;
    if (real) bf16_functions().read(static_cast<const Bf16*>(bytes) + at, operand, piece.columns);
    if (step.stored)
      functions_.dequantise(static_cast<const std::byte*>(bytes) + at, piece.columns,
                            step.operand.dtype() == DType::i8, static_cast<float>(step.stored->zero),
                            step.stored->scale, operand);
    function(y, step.reversed ? with : y, step.reversed ? y : with, nullptr, piece.columns, step.numbers);
  }
}

} // namespace lanner
