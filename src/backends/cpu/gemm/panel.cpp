#include "backends/cpu/gemm/panel.h"

#include "device/cpu.h"

namespace lanner {

const PanelFunction& panel_function() {
  static const PanelFunction& chosen = cpu_features().has_avx512() ? panel_function_avx512()
                                       : cpu_features().has_avx2() ? panel_function_avx2()
                                                                   : panel_function_baseline();
  return chosen;
}

} // namespace lanner
