#include "tf/write/saved_model.h"

#include "base/check.h"
#include "base/file/file.h"
#include "tf/write/graph_writer.h"
#include "tf/write/tensor_proto.h"

namespace lanner::tf {
namespace {

using protozero::pbf_writer;

void add_info(pbf_writer& into, protozero::pbf_tag_type tag, const MetaGraphRecord& meta_graph) {
  pbf_writer info(into, tag);
  for (const std::string& name : meta_graph.tags) info.add_string(4, name);
  if (!meta_graph.tensorflow_version.empty()) info.add_string(5, meta_graph.tensorflow_version);
  for (const auto& [alias, name] : meta_graph.function_aliases) {
    pbf_writer entry(info, 8);
    entry.add_string(1, alias);
    entry.add_string(2, name);
  }
}

void add_tensors(pbf_writer& into, protozero::pbf_tag_type tag,
                 const std::map<std::string, SignatureTensor>& tensors) {
  for (const auto& [key, tensor] : tensors) {
    pbf_writer entry(into, tag);
    entry.add_string(1, key);
    pbf_writer info(entry, 2);
    info.add_string(1, tensor.name);
    info.add_enum(2, static_cast<std::int32_t>(tensor.type));
    info.add_message(3, serialized(tensor.shape));
  }
}

void add_signatures(pbf_writer& into, protozero::pbf_tag_type tag, const MetaGraphRecord& meta_graph) {
  for (const auto& [name, signature] : meta_graph.signatures) {
    pbf_writer entry(into, tag);
    entry.add_string(1, name);
    pbf_writer message(entry, 2);
    add_tensors(message, 1, signature.inputs);
    add_tensors(message, 2, signature.outputs);
    message.add_string(3, signature.method);
  }
}

void add_saver(pbf_writer& into, protozero::pbf_tag_type tag, const SaverRecord& saver) {
  constexpr std::int32_t format_v2 = 2;
  pbf_writer message(into, tag);
  message.add_string(1, saver.file_name_tensor);
  message.add_string(2, saver.save_tensor);
  message.add_string(3, saver.restore_node);
  message.add_enum(7, format_v2);
}

void add_assets(pbf_writer& into, protozero::pbf_tag_type tag, const std::vector<AssetRecord>& assets) {
  for (const AssetRecord& asset : assets) {
    pbf_writer message(into, tag);
    {
      pbf_writer info(message, 1);
      info.add_string(1, asset.tensor);
    }
    message.add_string(2, asset.file);
  }
}

} // namespace

std::string serialized(const MetaGraphRecord& meta_graph) {
  std::string bytes;
  constexpr std::size_t beside = 1u << 16;
  bytes.reserve(expected_bytes(meta_graph.graph) +
                (meta_graph.object_graph ? meta_graph.object_graph->bytes.size() : 0) + beside);
  {
    pbf_writer saved_model(bytes);
    saved_model.add_int64(1, 1);
    pbf_writer message(saved_model, 2);
    add_info(message, 1, meta_graph);
    {
      pbf_writer graph(message, 2);
      write_graph(graph, meta_graph.graph);
    }
    if (meta_graph.saver) add_saver(message, 3, *meta_graph.saver);
    for (const auto& [name, collection] : meta_graph.collections) {
      pbf_writer entry(message, 4);
      entry.add_string(1, name);
      entry.add_message(2, collection.bytes);
    }
    add_signatures(message, 5, meta_graph);
    add_assets(message, 6, meta_graph.assets);
    if (meta_graph.object_graph) message.add_message(7, meta_graph.object_graph->bytes);
  }
  require_protobuf_size(bytes.size(), "a SavedModel");
  return bytes;
}

void write_saved_model(const std::filesystem::path& folder, const MetaGraphRecord& meta_graph) {
  const std::string bytes = serialized(meta_graph);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(!error, ErrorCode::io, "{}: the folder cannot be made: {}", folder.string(), error.message());
  write_file(folder / "saved_model.pb", std::as_bytes(std::span(bytes)));
}

} // namespace lanner::tf
