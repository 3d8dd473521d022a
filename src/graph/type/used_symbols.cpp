#include "graph/type/used_symbols.h"

namespace lanner {

void collect_symbols(const Type& type, std::set<std::string>& into) {
  if (!type.is_tensor()) return collect_symbols(type.element(), into);
  if (!type.ranked()) return;
  for (const Dim& dim : type.dims()) dim.collect_symbols(into);
}

void collect_symbols(const Region& region, std::set<std::string>& into) {
  for (const auto& parameter : region.parameters()) collect_symbols(parameter->type, into);
  for (const auto& node : region.nodes()) {
    for (const auto& output : node->outputs()) collect_symbols(output->type, into);
    for (const auto& inner : node->regions()) collect_symbols(*inner, into);
  }
}

} // namespace lanner
