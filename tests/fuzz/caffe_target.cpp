#include <algorithm>

#include "fuzz/targets.h"
#include "importers/caffe/net.h"
#include "importers/importer.h"
#include "ops/table/table.h"
#include "passes/pipeline.h"

namespace lanner::fuzz {

/// A net, binary or text; after a line `=== weights` the trained weights of a separate file.
void read_caffe(std::span<const std::byte> input) {
  constexpr std::string_view divider = "\n=== weights\n";
  const std::size_t end = as_text(input).find(divider);
  const auto net = input.first(std::min(end, input.size()));
  if (!caffe::looks_like_net(net)) return;
  const Limits limits = small_limits();
  ImportOptions import{builtin_op_table(), {}, limits};
  if (end != std::string_view::npos) import.weights = open_bytes(input.subspan(end + divider.size()));
  const auto graph = import_model(open_bytes(net), import);
  PassOptions options;
  options.verify = true;
  options.limits = limits;
  run_passes(*graph, options);
}

} // namespace lanner::fuzz
