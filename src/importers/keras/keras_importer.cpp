#include "importers/keras/keras_importer.h"

#include "importers/keras/keras_export.h"
#include "importers/tensorflow/flat_graph.h"
#include "importers/tensorflow/saved_model.h"

namespace lanner::keras {

ImportModel read_keras(const Content& content, const ImportOptions& given) {
  const KerasExport made = export_keras(content, given.name, given.limits);
  ImportOptions options = given;
  options.folder = made.folder();
  options.on_data_file = {}; // its files are gone when the import has ended
  const Content model = read_all(open_path(made.folder() / "saved_model.pb", options.limits), options.limits);
  return tensorflow::read_saved_model(model, options);
}

std::unique_ptr<Graph> import_keras(const Content& content, const ImportOptions& options) {
  return tensorflow::graph_of(read_keras(content, options), options);
}

} // namespace lanner::keras
