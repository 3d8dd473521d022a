#include "importers/tensorflow/tensorflow_importer.h"

#include <lanner/error.h>

#include "base/check.h"
#include "importers/builder.h"
#include "importers/custom_rule.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/rules.h"

namespace lanner::tensorflow {

std::unique_ptr<Graph> import_tensorflow(const Content& content, const ImportOptions& options) {
  const ImportModel model = read_graph_def(content, options.limits);
  check(!model.graph.outputs.empty(), ErrorCode::bad_data, "the GraphDef has no outputs");
  const auto rules = [&](const ImportNode& node) {
    const Rule known = find_rule(node);
    return known || !node.domain.empty() ? known : custom_rule(options.ops, "tf." + node.op);
  };
  return GraphBuilder(model, rules, options).run();
}

} // namespace lanner::tensorflow
