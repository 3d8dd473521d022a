#pragma once
// Writes Caffe nets byte by byte, well-formed or not. Field numbers are those of caffe.proto.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "importers/onnx_file.h"

namespace lanner::test::caffe_file {

using onnx_file::Message;

Message blob(const std::vector<std::int64_t>& dims, const std::vector<float>& values);
/// As in files from before blobs had shapes: four dims.
Message old_blob(const std::vector<std::int64_t>& dims, const std::vector<float>& values);

struct LayerSpec {
  std::string name, type;
  std::vector<std::string> bottoms = {}, tops = {};
  std::vector<Message> blobs = {};
};
/// `parameters` are whole fields of the layer.
Message layer(const LayerSpec& spec, const Message& parameters = {});
/// In the format where layer types were numbers.
Message old_layer(const LayerSpec& spec, std::int64_t type, const Message& parameters = {});

std::string net(const std::vector<Message>& layers, const std::vector<Message>& old_layers = {});

/// An input named `x` with these dims.
Message input(const std::vector<std::int64_t>& dims);

} // namespace lanner::test::caffe_file
