#include "backends/cpu/gemm/panel_loops.h"

namespace lanner {

const PanelFunction& panel_function_avx2() {
  static constexpr PanelFunction function{LANNER_SIMD::panel_width, LANNER_SIMD::run_panel};
  return function;
}

} // namespace lanner
