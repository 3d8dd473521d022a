#include "importers/onnx/onnx_importer.h"

#include <lanner/error.h>

#include "base/check.h"
#include "importers/builder.h"
#include "importers/onnx/onnx_reader.h"
#include "importers/onnx/onnx_tensor.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {

std::unique_ptr<Graph> import_onnx(const Content& content, const ImportOptions& options) {
  ImportModel model = read_onnx(content, options);
  model.dtype_of = dtype_of_onnx;
  check(!model.graph.nodes.empty() || !model.graph.outputs.empty(), ErrorCode::bad_data,
        "the ONNX file holds no graph");
  const auto rules = [&](const ImportNode& node) { return find_rule(node, options.ops); };
  return GraphBuilder(model, rules, options).run();
}

} // namespace lanner::onnx
