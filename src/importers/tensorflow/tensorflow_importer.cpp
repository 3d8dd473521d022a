#include "importers/tensorflow/tensorflow_importer.h"

#include <lanner/error.h>

#include "base/check.h"
#include "importers/builder.h"
#include "importers/custom_rule.h"
#include "importers/tensorflow/flat_graph.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/rules/rules.h"
#include "importers/tensorflow/saved_model.h"

namespace lanner::tensorflow {

std::unique_ptr<Graph> graph_of(const ImportModel& model, const ImportOptions& options) {
  return GraphBuilder(model, rules_for(options), options).run();
}

RuleFinder rules_for(const ImportOptions& options) {
  return [&ops = options.ops](const ImportNode& node) {
    const Rule known = find_rule(node);
    if ((known && !is_refused(node.op)) || !node.domain.empty()) return known;
    const Rule custom = custom_rule(ops, "tf." + node.op);
    return custom ? custom : known;
  };
}

std::unique_ptr<Graph> import_graph_def(const Content& content, const ImportOptions& options) {
  const ImportModel model = read_graph_def(content, options);
  check(!model.graph.outputs.empty(), ErrorCode::bad_data, "the GraphDef has no outputs");
  return graph_of(model, options);
}

std::unique_ptr<Graph> import_saved_model(const Content& content, const ImportOptions& options) {
  return graph_of(read_saved_model(content, options), options);
}

std::unique_ptr<Graph> import_meta_graph(const Content& content, const ImportOptions& options) {
  return graph_of(read_meta_graph(content, options), options);
}

} // namespace lanner::tensorflow
