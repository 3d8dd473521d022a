#include "backends/product/panel.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const PanelFunction& panel_function() {
  static const PanelFunction& chosen =
      for_this_cpu(panel_function_baseline, panel_function_avx2, panel_function_avx512);
  return chosen;
}

} // namespace lanner
