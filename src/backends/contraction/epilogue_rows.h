#pragma once
// From rows of sums to rows of results: scales, bias, steps, quantisation.

#include <vector>

#include "backends/contraction/block.h"
#include "backends/contraction/contraction.h"
#include "backends/family.h"

namespace lanner {

/// A piece of the result: `rows` rows from `row` on, `columns` columns from `column` on.
struct ResultPiece {
  std::int64_t row, rows, column, columns;
};

/// So many operations of f32 take as long as the epilogue of one element.
double epilogue_operations(const Contraction& contraction);

/// A contraction's epilogue, prepared. Sums are i32, floats that hold integers, or those of reals (`Sum`).
class EpilogueRows {
public:
  /// `padded`: the number of columns, padded so that whole vectors can be read from each piece's first column
  /// on. `out_distance`: between the result's rows, in elements.
  EpilogueRows(const Contraction& contraction, const Preparation& preparation,
               const BlockFunctions& functions, std::int64_t padded, std::int64_t out_distance);

  /// Writes a piece. Sums of its rows are `stride` apart, are padded to whole vectors, and may be
  /// overwritten. `operand`: room for as many floats as the piece has columns.
  template<typename Sum>
  void write(const Launch& launch, Sum* sums, std::int64_t stride, const ResultPiece& piece,
             float* operand) const;

private:
  void read_direct(const Contraction& contraction);
  void divide_by_scale(const Contraction& contraction, const ContractionStep* rounding);
  bool is_bounded(const Contraction& contraction, const ContractionStep* rounding) const;
  void read_scales(const Contraction& contraction, const Preparation& preparation, std::int64_t padded);
  template<typename Sum>
  void finish(const Sum* sums, const BlockFinish& finish, DType type) const;
  void write_by_steps(const Launch& launch, float* y, const ResultPiece& piece, const BlockFinish& finish,
                      float* operand) const;
  void round(const ContractionStep& step, float* y, std::int64_t stride, const ResultPiece& piece,
             std::byte* bytes) const;
  void apply(const Launch& launch, const ContractionStep& step, float* y, std::int64_t stride,
             const ResultPiece& piece, float* operand) const;
  const void* bytes_of(const Operand& operand, const Launch& launch) const {
    return operand.is_input() ? launch.inputs[operand.index] : operand.constant->data();
  }

  const BlockFunctions& functions_;
  std::vector<ContractionStep> steps_;
  std::optional<ByteScale> quantised_;
  DType type_;
  bool reals_;
  std::int64_t columns_, out_distance_;
  std::vector<float> multiplier_, bias_;
  float low_, high_;                  ///< Of f32.
  std::int32_t least_ = 0, most_ = 0; ///< Of stored numbers.
  /// The result is made from the sums alone, rounded once on the way where `inner_` is set, and from at most
  /// one dequantised operand.
  bool direct_ = false;
  std::optional<InnerRounding> inner_;
  std::optional<StoredBytes> added_;
};

} // namespace lanner
