// Diagonals and bands of matrices.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* other_diagonals = "diagonals other than the main one (k other than 0), or a size given "
                                        "for the result; take the main diagonal of a "
                                        "slice or a padded matrix";
constexpr const char* deep_diagonal =
    "Diag and DiagPart of tensors with more dims than a list or a matrix; use "
    "tf.linalg.diag and tf.linalg.diag_part";

Value* whole(RuleContext& context, double number) {
  return context.scalar(DType::i64, number);
}

Value* size_from_end(RuleContext& context, Value* value, std::int64_t places) {
  AttributeMap attributes = with("start", -places);
  if (places > 1) attributes.set("end", 1 - places);
  return reshaped(context, context.emit("shape", {value}, std::move(attributes)), {});
}

Value* counted(RuleContext& context, Value* count) {
  return context.emit("range", {whole(context, 0), count, whole(context, 1)});
}

/// True where row and column are equal.
Value* diagonal_mask(RuleContext& context, Value* rows, Value* columns) {
  return context.emit("equal", {unsqueezed(context, counted(context, rows), {1}), counted(context, columns)});
}

/// A negative count of diagonals keeps all of that side.
void band_part(RuleContext& context) {
  Value* x = context.required(0);
  Value *rows = size_from_end(context, x, 2), *columns = size_from_end(context, x, 1);
  Value* offset =
      context.emit("sub", {counted(context, columns), unsqueezed(context, counted(context, rows), {1})});
  const auto kept = [&](std::size_t input, bool negated) {
    Value* count = integers(context, input);
    Value* all = context.emit("less", {count, whole(context, 0)});
    Value* distance = negated ? context.emit("neg", {offset}) : offset;
    return context.emit("or", {all, context.emit("less_or_equal", {distance, count})});
  };
  Value* inside = context.emit("and", {kept(1, true), kept(2, false)});
  context.set_output(0, context.emit("where", {inside, x, number_like(context, x, 0)}));
}

/// Whether a constant input is left at its default, -1 for sizes and 0 for the diagonal.
void require_default(const RuleContext& context, std::size_t input, std::int64_t expected) {
  if (context.inputs() <= input) return;
  check(context.constant(input) != nullptr, ErrorCode::unsupported, "{}", other_diagonals);
  for (std::int64_t one : known_integers(context, input))
    check(one == expected, ErrorCode::unsupported, "{}", other_diagonals);
}

void matrix_diagonal(RuleContext& context) {
  require_default(context, 1, 0);
  require_default(context, 2, -1);
  require_default(context, 3, -1);
  Value* x = context.required(0);
  Value* size = size_from_end(context, x, 1);
  Value* padding = context.inputs() > 4 ? context.required(4) : number_like(context, x, 0);
  context.set_output(
      0, context.emit("where", {diagonal_mask(context, size, size), unsqueezed(context, x, {-1}), padding}));
}

/// Of the matrix as one row, every element that lies one row and one column further.
void diagonal_part(RuleContext& context) {
  require_default(context, 1, 0);
  Value* x = context.required(0);
  Value *rows = size_from_end(context, x, 2), *columns = size_from_end(context, x, 1);
  Value* count = context.emit("min", {rows, columns});
  Value* places =
      context.emit("mul", {counted(context, count), context.emit("add", {columns, whole(context, 1)})});
  Value* outer = context.emit("shape", {x}, with("end", std::int64_t{-2}));
  Value* sizes = context.emit("concat", {outer, context.ints({-1})}, with("axis", std::int64_t{0}));
  Value* flat = context.emit("reshape", {x, sizes});
  context.set_output(0, context.emit("gather", {flat, places}, with("axis", std::int64_t{-1})));
}

void set_diagonal(RuleContext& context) {
  require_default(context, 2, 0);
  Value *x = context.required(0), *diagonal = context.required(1);
  Value *rows = size_from_end(context, x, 2), *columns = size_from_end(context, x, 1);
  // The diagonal is as long as the shorter side; the place of a row's element is its own number.
  Value* last = context.emit("sub", {context.emit("min", {rows, columns}), whole(context, 1)});
  Value* place = context.emit("min", {counted(context, rows), last});
  Value* spread =
      unsqueezed(context, context.emit("gather", {diagonal, place}, with("axis", std::int64_t{-1})), {-1});
  context.set_output(0, context.emit("where", {diagonal_mask(context, rows, columns), spread, x}));
}

void simple_diagonal(RuleContext& context) {
  check(rank_of(context, 0) == (context.node.op == "Diag" ? 1 : 2), ErrorCode::unsupported, "{}",
        deep_diagonal);
  if (context.node.op == "Diag")
    matrix_diagonal(context);
  else
    diagonal_part(context);
}

} // namespace

void add_diagonal_rules(Rules& rules) {
  rules["MatrixBandPart"] = band_part;
  rules["MatrixDiag"] = matrix_diagonal;
  rules["MatrixDiagV2"] = rules["MatrixDiagV3"] = {matrix_diagonal, {other_diagonals}};
  rules["MatrixDiagPart"] = diagonal_part;
  rules["MatrixDiagPartV2"] = rules["MatrixDiagPartV3"] = {diagonal_part, {other_diagonals}};
  rules["MatrixSetDiag"] = set_diagonal;
  rules["MatrixSetDiagV2"] = rules["MatrixSetDiagV3"] = {set_diagonal, {other_diagonals}};
  rules["Diag"] = rules["DiagPart"] = {simple_diagonal, {deep_diagonal}};
}

} // namespace lanner::tensorflow
