#include "importers/importer.h"

#include <algorithm>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/foreign_format.h"
#include "base/text/one_line.h"
#include "importers/caffe/caffe_importer.h"
#include "importers/caffe/net.h"
#include "importers/graph_source.h"
#include "importers/keras/keras_importer.h"
#include "importers/onnx/onnx_importer.h"
#include "importers/onnx/onnx_reader.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/saved_model.h"
#include "importers/tensorflow/tensorflow_importer.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

/// A format: how it is recognised and read. The first format that recognises the content reads it.
struct Format {
  const char* name;
  bool (*recognises)(std::span<const std::byte> bytes);
  std::unique_ptr<Graph> (*import)(const Content& content, const ImportOptions& options);
  bool weights_apart = false; ///< Whether trained weights may come in a file of their own.
};

constexpr Format formats[] = {
    {"ONNX", onnx::looks_like_onnx, onnx::import_onnx},
    {"TensorFlow SavedModel", tensorflow::looks_like_saved_model, tensorflow::import_saved_model},
    {"TensorFlow MetaGraph", tensorflow::looks_like_meta_graph, tensorflow::import_meta_graph},
    {"TensorFlow GraphDef", tensorflow::looks_like_graph_def, tensorflow::import_graph_def},
    {"Keras", is_keras_model, keras::import_keras},
    {"Caffe", caffe::looks_like_net, caffe::import_caffe, true},
};

/// Printable bytes as characters, others as numbers.
std::string first_bytes(std::span<const std::byte> bytes) {
  const auto first = bytes.first(std::min<std::size_t>(bytes.size(), 8));
  const auto shows = [](std::byte b) { return b >= std::byte{' '} && b < std::byte{0x7f}; };
  const auto end = std::ranges::find_if_not(first, shows);
  if (end == first.end() || *end == std::byte{'\n'} || *end == std::byte{'\r'})
    return fmt::format("'{}'", std::string_view(reinterpret_cast<const char*>(first.data()),
                                                static_cast<std::size_t>(end - first.begin())));
  std::string hex;
  for (std::byte b : first) hex += fmt::format("{}{:02x}", hex.empty() ? "" : " ", static_cast<unsigned>(b));
  return hex;
}

/// Images and clips by their first bytes.
std::optional<std::string_view> media_of(std::span<const std::byte> bytes) {
  using namespace std::string_view_literals;
  struct Sign {
    std::size_t at;
    std::string_view bytes, name;
  };
  constexpr Sign signs[] = {
      {0, "\x89PNG\r\n"sv, "an image (PNG)"}, {0, "\xff\xd8\xff"sv, "an image (JPEG)"},
      {0, "GIF8"sv, "an image (GIF)"},        {8, "WEBP"sv, "an image (WebP)"},
      {4, "ftyp"sv, "a clip (MP4 or MOV)"},   {0, "\x1a\x45\xdf\xa3"sv, "a clip (MKV or WebM)"},
      {8, "AVI "sv, "a clip (AVI)"},
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto found = std::ranges::find_if(signs, [&](const Sign& sign) {
    return text.size() > sign.at && text.substr(sign.at).starts_with(sign.bytes);
  });
  if (found == std::end(signs)) return std::nullopt;
  return found->name;
}

/// The text file that a checkout has in place of a large file that was not fetched (git-lfs.com,
/// specification of pointer files).
void refuse_pointer(std::span<const std::byte> bytes) {
  constexpr std::string_view first_line = "version https://git-lfs.github.com/spec/";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check(!text.starts_with(first_line), ErrorCode::bad_data,
        "this is a Git LFS pointer of {} bytes, not the model itself; run: git lfs pull", bytes.size());
}

bool looks_like_plan(std::span<const std::byte> bytes) {
  constexpr std::size_t prefix = 8, searched = 4096;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), prefix + searched));
  return text.size() > prefix && text.substr(prefix).starts_with("{\"__metadata__\"") &&
         text.find(fmt::format("\"{}\"", plan_key)) != std::string_view::npos;
}

/// Messages contain names from the file.
constexpr std::size_t longest_message = 2000;

/// Whatever a bad file makes lower layers throw is reported as an Error.
std::unique_ptr<Graph> import_as(const Format& format, const Content& content, const ImportOptions& options) {
  check(!options.weights || format.weights_apart, ErrorCode::invalid_argument,
        "weights: a model of format {} contains its own weights; leave the option out", format.name);
  try {
    Meter parsed;
    return format.import(content, options);
  } catch (const Error& error) {
    throw Error(error.code(), one_line(error.message(), longest_message));
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, "memory was refused by the system while reading the {} file", format.name);
  } catch (const std::exception& error) {
    fail(ErrorCode::internal, "internal error while importing the {} file: {}; please report it", format.name,
         error.what());
  }
}

void collect_views(const Region& region, const std::shared_ptr<const void>& memory,
                   std::vector<Node*>& views) {
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions()) collect_views(*inner, memory, views);
    if (node->kind() == "constant" && node->output()->constant()->owner() == memory)
      views.push_back(node.get());
  }
}

/// Constants are views of the file where their elements are aligned there, and each view keeps the whole file
/// in memory. Where they use only a small part of it they are copied, so that the file's memory is freed.
void let_go_of(const Content& content, Graph& graph) {
  std::vector<Node*> views;
  collect_views(graph.body(), content.owner, views);
  std::map<const void*, Tensor> copies; // a tensor used under several names stays one tensor
  std::uint64_t bytes = 0;
  for (const Node* view : views) {
    const Tensor& tensor = *view->output()->constant();
    if (copies.try_emplace(tensor.data()).second) bytes += tensor.bytes();
  }
  if (bytes >= content.bytes.size() / 4 * 3) return;
  for (Node* view : views) {
    const Tensor tensor = *view->output()->constant();
    Tensor& copy = copies[tensor.data()];
    if (!copy.defined()) copy = tensor.clone();
    if (copy.shape() == tensor.shape() && copy.dtype() == tensor.dtype()) view->attributes.set("value", copy);
  }
}

} // namespace

std::optional<std::string_view> format_of(std::span<const std::byte> bytes) {
  for (const Format& format : formats)
    if (format.recognises(bytes)) return format.name;
  return std::nullopt;
}

std::unique_ptr<Graph> import_model(const SourcePtr& source, const ImportOptions& given) {
  ImportOptions options = given;
  options.name = source->name();
  if (const auto* made = dynamic_cast<const GraphSource*>(source.get())) return made->graph(options);
  const Content content = read_all(source, options.limits);
  check(!content.bytes.empty(), ErrorCode::bad_data, "the file is empty; expected a model");
  refuse_pointer(content.bytes);
  if (const auto foreign = foreign_format(content.bytes, source->name()))
    fail(ErrorCode::unsupported, "it {}", foreign->text());
  for (const Format& format : formats)
    if (format.recognises(content.bytes)) {
      std::unique_ptr<Graph> graph = import_as(format, content, options);
      let_go_of(content, *graph);
      return graph;
    }
  check(!looks_like_plan(content.bytes), ErrorCode::bad_data, "it is a Lanner plan, already built; use load");
  if (const auto media = media_of(content.bytes))
    fail(ErrorCode::bad_data, "it is {}; expected a model (ONNX, TensorFlow, Caffe)", *media);
  std::string known;
  for (const Format& format : formats) known += (known.empty() ? "" : ", ") + std::string(format.name);
  fail(ErrorCode::bad_data, "not a model of a known format ({}): it has {} bytes and starts with {}", known,
       content.bytes.size(), first_bytes(content.bytes));
}

} // namespace lanner
