#include "engine/context/input_names.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "base/text/joined.h"

namespace lanner {

std::size_t input_number(const Graph& graph, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& input : graph.body().parameters()) {
    if (input->name() == name) return known.size();
    known.push_back(input->name());
  }
  fail(ErrorCode::invalid_argument, "the model has no input '{}'; there is {}", name, joined(known, ", "));
}

} // namespace lanner
