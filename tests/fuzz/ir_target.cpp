#include <stdexcept>

#include "fuzz/targets.h"
#include "graph/text/text.h"
#include "ops/table/table.h"
#include "passes/pipeline.h"

namespace lanner::fuzz {

void read_ir(std::span<const std::byte> input) {
  const Limits limits = small_limits();
  const auto graph = parse_graph(as_text(input), builtin_op_table(), {}, limits);
  const std::string text = print(*graph);
  // A large constant is printed as its hash, which cannot be parsed back.
  if (text.find("hash(") == std::string::npos) {
    const std::string again = print(*parse_graph(text, builtin_op_table(), {}, limits));
    if (again != text) throw std::logic_error("printing and parsing changes the text:\n" + text + again);
  }
  PassOptions options;
  options.verify = true;
  options.limits = limits;
  run_passes(*graph, options);
}

} // namespace lanner::fuzz
