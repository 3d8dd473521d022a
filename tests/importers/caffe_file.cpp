#include "importers/caffe_file.h"

namespace lanner::test::caffe_file {

static Message with_values(Message made, const std::vector<float>& values) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return made.bytes(5, bytes);
}

Message blob(const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
  return with_values(Message().message(7, Message().packed(1, dims)), values);
}

Message old_blob(const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
  Message made;
  for (std::size_t i = 0; i < dims.size(); ++i) made.integer(static_cast<std::uint32_t>(i + 1), dims[i]);
  return with_values(made, values);
}

Message layer(const LayerSpec& spec, const Message& parameters) {
  Message made = Message().bytes(1, spec.name).bytes(2, spec.type);
  for (const std::string& bottom : spec.bottoms) made.bytes(3, bottom);
  for (const std::string& top : spec.tops) made.bytes(4, top);
  for (const Message& blob : spec.blobs) made.message(7, blob);
  made.data += parameters.data;
  return made;
}

Message old_layer(const LayerSpec& spec, std::int64_t type, const Message& parameters) {
  Message made;
  for (const std::string& bottom : spec.bottoms) made.bytes(2, bottom);
  for (const std::string& top : spec.tops) made.bytes(3, top);
  made.bytes(4, spec.name).integer(5, type);
  for (const Message& blob : spec.blobs) made.message(6, blob);
  made.data += parameters.data;
  return made;
}

std::string net(const std::vector<Message>& layers, const std::vector<Message>& old_layers) {
  Message made = Message().bytes(1, "net");
  for (const Message& layer : old_layers) made.message(2, layer);
  for (const Message& layer : layers) made.message(100, layer);
  return made.data;
}

Message input(const std::vector<std::int64_t>& dims) {
  return layer({"data", "Input", {}, {"x"}},
               Message().message(143, Message().message(1, Message().packed(1, dims))));
}

} // namespace lanner::test::caffe_file
