#include "importers/caffe/caffe_importer.h"

#include <lanner/error.h>

#include "base/check.h"
#include "importers/builder.h"
#include "importers/caffe/net_model.h"
#include "importers/caffe/rules.h"

namespace lanner::caffe {
namespace {

Net read_weights(const SourcePtr& source, const Limits& limits) {
  return with_context([&] { return source->name(); },
                      [&] {
                        const Content content = read_all(source, limits);
                        check(looks_like_net(content.bytes), ErrorCode::bad_data,
                              "not the weights of a Caffe net; expected a .caffemodel");
                        return read_net(content, limits);
                      });
}

} // namespace

std::unique_ptr<Graph> import_caffe(const Content& content, const ImportOptions& options) {
  Net net = read_net(content, options.limits);
  if (options.weights) take_blobs(net, read_weights(options.weights, options.limits));
  const ImportModel model = model_of(std::move(net));
  check(!model.graph.outputs.empty(), ErrorCode::bad_data, "the Caffe net has no outputs");
  return GraphBuilder(model, find_rule, options).run();
}

} // namespace lanner::caffe
