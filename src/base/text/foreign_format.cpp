#include "base/text/foreign_format.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace lanner {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::size_t most_entries = 4096, searched = 1u << 26;

std::string without_ending(const std::string& name) {
  return fs::path(name).stem().string();
}

ForeignFormat tf_lite(const std::string& name) {
  return {"a TensorFlow Lite model",
          fmt::format("expected ONNX: python -m tf2onnx.convert --tflite {} --output {}.onnx", name,
                      without_ending(name))};
}

ForeignFormat keras(const std::string& name, const char* kind) {
  return {kind, fmt::format("in Python: lanner.build(keras.saving.load_model('{}')), or, for a file, "
                            "keras.saving.load_model('{}').export('{}.onnx', format='onnx')",
                            name, name, without_ending(name))};
}

ForeignFormat hdf5(std::string_view, const std::string&) {
  return {"an HDF5 file without a network, such as Keras's weights",
          "load it into its network in Keras, and pass that to lanner.build, or export it to ONNX"};
}

ForeignFormat torch_pickle() {
  return {"a PyTorch file: weights, or a pickled module, which need the Python code of their network",
          "in Python: make the network, load_state_dict() what torch.load() gives, then lanner.build(module, "
          "example_inputs), or torch.onnx.export() for a file"};
}

ForeignFormat torch_script(const std::string& name) {
  return {"a TorchScript file",
          fmt::format("expected ONNX: torch.onnx.export(torch.jit.load('{}'), example_inputs, '{}.onnx', "
                      "dynamo=False)",
                      name, without_ending(name))};
}

ForeignFormat torch_program(const std::string& name) {
  return {"a program exported by PyTorch",
          fmt::format("in Python: lanner.build(torch.export.load('{}'), example_inputs)", name)};
}

// --- Archives ---

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

/// File names in the central directory of a zip archive (APPNOTE 4.3.12); a damaged entry ends the list.
std::vector<std::string_view> names_in_zip(std::string_view bytes) {
  constexpr std::size_t header = 46, end_size = 22;
  const std::size_t end = bytes.rfind("PK\5\6"sv);
  if (end == std::string_view::npos || end + end_size > bytes.size()) return {};
  std::size_t at = number_at(bytes, end + 16, 4);
  // An archive of 4 GiB or more: its central directory is right before its end records.
  if (at >= bytes.size()) at = bytes.find("PK\1\2"sv, end > searched ? end - searched : 0);
  std::vector<std::string_view> names;
  while (at < bytes.size() && bytes.substr(at).starts_with("PK\1\2"sv) && at + header <= bytes.size() &&
         names.size() < most_entries) {
    const std::size_t length = number_at(bytes, at + 28, 2);
    names.push_back(bytes.substr(at + header, length));
    at += header + length + number_at(bytes, at + 30, 2) + number_at(bytes, at + 32, 2);
  }
  return names;
}

ForeignFormat zip(std::string_view bytes, const std::string& name) {
  const std::vector<std::string_view> names = names_in_zip(bytes);
  const auto has = [&](std::string_view end) {
    return std::ranges::any_of(names, [&](std::string_view each) { return each.ends_with(end); });
  };
  if (has("serialized_exported_program.json") || has("archive_format")) return torch_program(name);
  if (has("/constants.pkl")) return torch_script(name);
  if (has("data.pkl")) return torch_pickle();
  if (has(".npy")) return {"an archive of NumPy arrays", "expected the network itself, as ONNX"};
  return {"a zip archive", fmt::format("unpack it and pass the model inside: unzip {}", name)};
}

// --- By the first bytes ---

struct Signature {
  std::size_t at;
  std::string_view bytes;
  std::function<ForeignFormat(std::string_view bytes, const std::string& name)> format;
};

auto named(const char* format, const char* remedy) {
  return [=](std::string_view, const std::string&) { return ForeignFormat{format, remedy}; };
}

const std::vector<Signature>& signatures() {
  constexpr const char* source = "expected the ONNX, TensorFlow or Caffe model that it was made from";
  const auto pickle = [](std::string_view, const std::string&) { return torch_pickle(); };
  static const std::vector<Signature> table = {
      {4, "TFL3", [](std::string_view, const std::string& name) { return tf_lite(name); }},
      {0, "PK\3\4", zip},
      {0, "\x89HDF\r\n\x1a\n", hdf5},
      // A pickled number that torch.save() wrote at the start before version 1.6.
      {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, pickle},
      {4, "ORTM", named("a model in ONNX Runtime's own format", source)},
      {0, "GGUF", named("a GGUF file of llama.cpp", "expected ONNX, as optimum-cli export onnx writes it")},
      {0, "ftrt", named("a TensorRT engine", source)},
      {0, "ptrt", named("a TensorRT engine", source)},
      {0, "RKNN", named("a Rockchip RKNN model", source)},
      {0, "7767517\n", named("an ncnn network", source)},
      {0, "[net]", named("a Darknet configuration", "expected ONNX, as its converters write it")},
      {0, "\x80\x02", named("a Python pickle", "load it in Python, and export the network to ONNX")},
      {0, "\x80\x03", named("a Python pickle", "load it in Python, and export the network to ONNX")},
      {0, "\x80\x04\x95", named("a Python pickle", "load it in Python, and export the network to ONNX")},
      {0, "\x80\x05\x95", named("a Python pickle", "load it in Python, and export the network to ONNX")}};
  return table;
}

bool is_openvino(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 1024);
  return (head.starts_with("<?xml") || head.starts_with("<net")) &&
         head.find("<net ") != std::string_view::npos;
}

} // namespace

bool is_keras_model(std::span<const std::byte> content) {
  const std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
  if (bytes.starts_with("\x89HDF\r\n\x1a\n"sv))
    return bytes.substr(0, searched).find("model_config") != std::string_view::npos;
  if (!bytes.starts_with("PK\3\4"sv)) return false;
  const std::vector<std::string_view> names = names_in_zip(bytes);
  const auto has = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  return has("config.json") && has("metadata.json") && has("model.weights.h5");
}

std::optional<ForeignFormat> foreign_format(std::span<const std::byte> content, const std::string& name) {
  const std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
  if (is_keras_model(content)) return std::nullopt;
  for (const Signature& signature : signatures())
    if (bytes.size() > signature.at && bytes.substr(signature.at).starts_with(signature.bytes))
      return signature.format(bytes, name);
  if (is_openvino(bytes))
    return ForeignFormat{"an OpenVINO network",
                         "expected the ONNX or TensorFlow model that it was made from"};
  return std::nullopt;
}

std::optional<ForeignFormat> foreign_folder(const fs::path& folder) {
  std::error_code ignored;
  const auto has = [&](const char* name) { return fs::exists(folder / name, ignored); };
  if (has("config.json") &&
      (has("model.safetensors") || has("pytorch_model.bin") || has("model.safetensors.index.json")))
    return ForeignFormat{
        "a transformers model folder",
        fmt::format("expected ONNX: optimum-cli export onnx --model {} onnx/", folder.string())};
  if (has("Manifest.json") && has("Data"))
    return ForeignFormat{"a Core ML package", "expected the network that it was made from, as ONNX"};
  if (has("keras_metadata.pb") || (has("config.json") && has("model.weights.h5")))
    return keras(folder.string(), "a Keras model folder");
  return std::nullopt;
}

} // namespace lanner
