#pragma once
// What the gates of lstm, gru and rnn make of a state at one step.

#include <cstdint>

#include "backends/product/panel.h"
#include "ops/recurrent/cell_activation.h"

namespace lanner {

/// One step of one row. Gates lie one behind the other, `size` numbers each, in the operator's order.
struct CellStep {
  float* x;       ///< Products with the input, with their bias. A gru's first half leaves its gates here.
  const float* r; ///< Products with the state, with their bias.
  float* hidden;  ///< The state, which becomes the next one.
  float* cell;    ///< An lstm's, alike.
  float* kept;    ///< What a gru's reset gate leaves of the state, for the products of its second half.
  float* out;     ///< Where the next state goes too.
  const float* peepholes; ///< An lstm's, of input, output and forget gate; or null.
  const ops::CellActivation* activations;
  std::int64_t size;
  bool input_forget;
};

using CellFunction = void (*)(const CellStep& step);

/// Of one instruction set. `gru` is for linear_before_reset; without it the candidate's products are of what
/// `gru_reset` keeps, and `gru_candidate` ends the step.
struct CellFunctions {
  const PanelFunction& (*panel)();
  CellFunction lstm, rnn, gru, gru_reset, gru_candidate;
};

/// For this processor.
const CellFunctions& cell_functions();

// One for each instruction set.
const CellFunctions& cell_functions_baseline();
const CellFunctions& cell_functions_avx2();
const CellFunctions& cell_functions_avx512();

} // namespace lanner
