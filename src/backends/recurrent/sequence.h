#pragma once
// Recurrent nets over all steps: products by panels of packed weights, then cells.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backends/recurrent/cells.h"
#include "ops/recurrent/recurrent.h"

namespace lanner {

/// Definition of a recurrent net.
struct Recurrence {
  ops::RecurrentShape shape;
  const CellFunctions* functions = nullptr;
  CellFunction cell = nullptr;  ///< The whole step, given the products with the state,
  CellFunction reset = nullptr; ///< or, for a gru, the input of the candidate's products.
  bool has_cell = false, input_forget = false;
  bool wide_lengths = false; ///< i64, not i32.
  std::vector<std::vector<ops::CellActivation>> activations;
  std::int64_t rows = 1; ///< Batch rows per unit.

  /// `op` is lstm, gru or rnn.
  static Recurrence of(std::string_view op, const AttributeMap& attributes, const ops::RecurrentShape& shape,
                       const CellFunctions& functions);

  /// A unit is one direction of some rows; units are independent.
  std::int64_t units() const { return shape.directions * blocks(); }
  std::int64_t blocks() const { return (shape.batch - 1) / rows + 1; }
  std::int64_t panels() const { return (shape.width() - 1) / functions->panel().width + 1; }
  /// Steps whose products with the input are computed at once.
  std::int64_t chunk() const;
  /// Scratch memory of a unit, in floats.
  std::int64_t unit_floats() const;
};

/// Weights are stored in panels: direction, panel, depth, column of the panel. Absent inputs are null.
struct RecurrentData {
  const float *x, *w, *r, *bias, *hidden, *cell, *peepholes;
  const void* lengths;
  float *all, *last_hidden, *last_cell;
  float* scratch; ///< unit_floats() for each unit.
};

/// Threads within a unit: for the products with the input, and for those with the state.
struct UnitThreads {
  int input = 1, state = 1;
};

/// Throws Error{invalid_argument} for a length that exceeds the input.
void run_unit(const Recurrence& net, const RecurrentData& data, std::int64_t unit, UnitThreads threads);

} // namespace lanner
