#include "backends/cpu/layouts.h"

#include <algorithm>

#include "backends/storage_layout.h"
#include "device/cpu.h"

namespace lanner {

std::vector<Layout> offered_layouts(const Shape& shape) {
  std::vector<Layout> layouts;
  const auto offer = [&](const Layout& layout) {
    const Layout form = canonical(layout, shape);
    if (std::find(layouts.begin(), layouts.end(), form) == layouts.end()) layouts.push_back(form);
  };
  offer({});
  if (shape.rank() < 3) return layouts;
  offer(Layout::channels_last(shape.rank()));
  offer(Layout::channels_blocked(shape.rank(), cpu_features().has_avx512() ? 16 : 8));
  return layouts;
}

Tactic row_major_tactic(std::string_view kernel, const Node& node) {
  Tactic tactic;
  tactic.kernel = kernel;
  tactic.inputs.resize(node.inputs().size());
  tactic.outputs.resize(node.outputs().size());
  return tactic;
}

} // namespace lanner
