#pragma once
// The elementwise part of one lstm, gru or rnn step.

#include <cstdint>

#include "backends/product/panel.h"
#include "ops/recurrent/cell_activation.h"

namespace lanner {

/// One step of one row. Gates are contiguous, `size` numbers each, in the operator's order.
struct CellStep {
  float* x;       ///< Products with the input, plus bias. The first half of a gru step stores its gates here.
  const float* r; ///< Products with the state, plus bias.
  float* hidden;  ///< The state, updated in place.
  float* cell;    ///< An lstm's cell state, updated in place.
  float* kept;    ///< A gru's state times its reset gate, for the products of its second half.
  float* out;     ///< Output for the new state.
  const float* peepholes; ///< An lstm's peephole weights for input, output and forget gate; or null.
  const ops::CellActivation* activations;
  std::int64_t size;
  bool input_forget;
};

using CellFunction = void (*)(const CellStep& step);

/// For one instruction set. `gru` is for linear_before_reset; otherwise `gru_reset` computes `kept`, from
/// which the candidate's products are made, and `gru_candidate` finishes the step.
struct CellFunctions {
  const PanelFunction& (*panel)();
  CellFunction lstm, rnn, gru, gru_reset, gru_candidate;
};

/// The functions for this processor.
const CellFunctions& cell_functions();

// One for each instruction set.
const CellFunctions& cell_functions_baseline();
const CellFunctions& cell_functions_avx2();
const CellFunctions& cell_functions_avx512();

} // namespace lanner
