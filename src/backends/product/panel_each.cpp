// Compiled once for each instruction set.

#include "backends/product/panel_loops.h"

namespace lanner {

const PanelFunction& LANNER_FOR_ISA(panel_function)() {
  static constexpr PanelFunction function{LANNER_SIMD::panel_width, LANNER_SIMD::run_panel};
  return function;
}

} // namespace lanner
