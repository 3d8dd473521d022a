#pragma once
// Recurrent nets over all steps: products by panels of packed weights, then cells.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backends/recurrent/cells.h"
#include "ops/recurrent/recurrent.h"

namespace lanner {

/// Which steps a net takes.
struct Recurrence {
  ops::RecurrentShape shape;
  const CellFunctions* functions = nullptr;
  CellFunction cell = nullptr;  ///< The whole step once the state's products are there,
  CellFunction reset = nullptr; ///< or what makes the state that the candidate's products are of: a gru's.
  bool has_cell = false, input_forget = false;
  bool wide_lengths = false; ///< i64, not i32.
  std::vector<std::vector<ops::CellActivation>> activations;
  std::int64_t rows = 1; ///< Of the batch that one unit takes.

  /// `op` is lstm, gru or rnn.
  static Recurrence of(std::string_view op, const AttributeMap& attributes, const ops::RecurrentShape& shape,
                       const CellFunctions& functions);

  /// One direction of some rows: no two of them share anything.
  std::int64_t units() const { return shape.directions * blocks(); }
  std::int64_t blocks() const { return (shape.batch - 1) / rows + 1; }
  std::int64_t panels() const { return (shape.width() - 1) / functions->panel().width + 1; }
  /// Steps whose products with the input are made at once.
  std::int64_t chunk() const;
  /// Scratch memory of a unit, in floats.
  std::int64_t unit_floats() const;
};

/// Weights lie in panels: direction, panel, depth, column of the panel. What is absent is null.
struct RecurrentData {
  const float *x, *w, *r, *bias, *hidden, *cell, *peepholes;
  const void* lengths;
  float *all, *last_hidden, *last_cell;
  float* scratch; ///< unit_floats() for each unit.
};

/// Threads within a unit: of the products with the input, of those with the state.
struct UnitThreads {
  int input = 1, state = 1;
};

/// Throws Error{invalid_argument} for a length beyond the input.
void run_unit(const Recurrence& net, const RecurrentData& data, std::int64_t unit, UnitThreads threads);

} // namespace lanner
