#include "importers/caffe/net_model.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"

namespace lanner::caffe {
namespace {

using Names = std::set<std::string, std::less<>>;

bool matches(const StateRule& rule) {
  constexpr std::int64_t testing = 1;
  return (rule.phase == -1 || rule.phase == testing) && rule.stages.empty() && rule.min_level <= 0 &&
         rule.max_level >= 0;
}

bool in_testing(const Layer& layer) {
  if (!layer.include.empty()) return std::ranges::any_of(layer.include, matches);
  return std::ranges::none_of(layer.exclude, matches);
}

bool is_data(const Layer& layer) {
  static const Names types{"Input",    "Data",       "DummyData",  "ImageData",
                           "HDF5Data", "MemoryData", "WindowData", "AnnotatedData"};
  return types.contains(layer.type);
}

/// Layers that only measure the net and do not affect its output.
bool only_measures(const Layer& layer) {
  return layer.type.ends_with("Loss") || layer.type == "Accuracy" || layer.type == "Silence" ||
         layer.type == "SoftmaxWithLoss" || layer.type == "HDF5Output";
}

const std::int64_t* number(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second.value);
}

const std::vector<std::int64_t>* list(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second.value);
}

Dims dims_of(const std::vector<std::int64_t>& sizes, const std::string& input) {
  check_rank(sizes.size(), "input " + input);
  Dims dims;
  for (std::int64_t size : sizes) {
    check(size >= 0, ErrorCode::bad_data, "input {}: size {} is negative", input, size);
    dims.emplace_back(size);
  }
  return dims;
}

class Model {
public:
  explicit Model(Net net) : net_(std::move(net)) {}

  ImportModel run() {
    choose_layers();
    for (const Layer& layer : layers_)
      for (const std::string& bottom : layer.bottoms) read_.insert(bottom);
    add_net_inputs();
    for (const Layer& layer : data_) add_data(layer);
    open_batch();
    count_versions();
    for (Layer& layer : layers_) add_layer(layer);
    add_outputs();
    model_.graph.name = net_.name;
    return std::move(model_);
  }

private:
  /// A net that was saved while training has its data layer in the training phase only.
  void choose_layers() {
    Names given;
    for (Layer& layer : net_.layers) {
      if (is_data(layer) && in_testing(layer)) {
        given.insert(layer.tops.begin(), layer.tops.end());
        data_.push_back(std::move(layer));
      } else if (!is_data(layer) && in_testing(layer) && !only_measures(layer)) {
        layers_.push_back(std::move(layer));
      }
    }
    for (Layer& layer : net_.layers) {
      if (!is_data(layer) || layer.tops.empty() || given.contains(layer.tops[0])) continue;
      given.insert(layer.tops.begin(), layer.tops.end());
      data_.push_back(std::move(layer));
    }
  }

  void add_input(const std::string& name, Dims dims) {
    if (!read_.contains(name)) return;
    model_.graph.inputs.push_back({name, Type(DType::f32, std::move(dims))});
    inputs_.insert(name);
  }

  void add_net_inputs() {
    for (std::size_t i = 0; i < net_.inputs.size(); ++i) {
      const std::string& name = net_.inputs[i];
      constexpr std::size_t old_rank = 4;
      if (i < net_.input_shapes.size()) {
        add_input(name, dims_of(net_.input_shapes[i], name));
        continue;
      }
      check(net_.input_dims.size() >= (i + 1) * old_rank, ErrorCode::bad_data,
            "input {}: its shape is missing", name);
      const auto from = net_.input_dims.begin() + static_cast<std::ptrdiff_t>(i * old_rank);
      add_input(name, dims_of({from, from + old_rank}, name));
    }
  }

  void add_data(const Layer& layer) {
    for (std::size_t i = 0; i < layer.tops.size(); ++i) add_input(layer.tops[i], data_dims(layer, i));
  }

  Dims data_dims(const Layer& layer, std::size_t top) {
    const std::string& name = layer.tops[top];
    const auto* shape = list(layer.attributes, top == 0 ? "shape" : fmt::format("shape{}", top));
    if (!shape) shape = list(layer.attributes, "shape");
    if (shape) return dims_of(*shape, name);
    Dims dims;
    for (const char* size : {"batch_size", "channels", "height", "width"})
      if (const auto* value = number(layer.attributes, size)) dims.emplace_back(*value);
    for (const char* size : {"num", "channels", "height", "width"})
      if (const auto* values = list(layer.attributes, size))
        dims.emplace_back(values->at(std::min(top, values->size() - 1)));
    if (dims.size() == 4 && top == 0) return dims;
    return picture_dims(layer, name);
  }

  /// The shape of data that only the training files describe, from the first convolution and the crop size.
  Dims picture_dims(const Layer& data, const std::string& name) const {
    Dim channels = Dim::symbol("channels"), height = Dim::symbol("height"), width = Dim::symbol("width");
    if (const auto* crop = number(data.attributes, "crop_size"); crop && *crop > 0)
      height = width = Dim(*crop);
    for (const Layer& layer : layers_) {
      check_deadline();
      const bool reads = layer.type == "Convolution" && std::ranges::count(layer.bottoms, name) > 0;
      if (!reads || layer.blobs.empty() || layer.blobs[0].rank() != 4) continue;
      const auto* group = number(layer.attributes, "group");
      channels = Dim(layer.blobs[0].shape()[1] * std::clamp<std::int64_t>(group ? *group : 1, 1, 1 << 20));
    }
    return {Dim::symbol("batch"), channels, height, width};
  }

  /// The batch size in a net's file is only a default: the batch is left open.
  void open_batch() {
    if (model_.graph.inputs.size() != 1) return;
    ImportValue& input = model_.graph.inputs[0];
    if (input.type->rank() < 2) return;
    Dims dims = input.type->dims();
    dims[0] = Dim::symbol("batch");
    input.type = input.type->with_dims(std::move(dims));
  }

  void count_versions() {
    for (const Layer& layer : layers_)
      for (const std::string& top : layer.tops) ++versions_[top];
  }

  std::string reading_name(const std::string& blob) const {
    const auto found = current_.find(blob);
    return found == current_.end() ? blob : found->second;
  }

  std::string writing_name(const std::string& blob) {
    const int version = ++written_[blob];
    // An input keeps its own name.
    const bool plain = version == versions_[blob] && !inputs_.contains(blob);
    return current_[blob] = plain ? blob : fmt::format("{}/{}", blob, version);
  }

  void add_layer(Layer& layer) {
    check_deadline();
    ImportNode node;
    node.name = layer.name;
    node.op = layer.type;
    for (const std::string& bottom : layer.bottoms) {
      node.inputs.push_back(reading_name(bottom));
      consumed_.insert(node.inputs.back());
    }
    for (std::size_t i = 0; i < layer.tops.size(); ++i) {
      const std::string& top = layer.tops[i];
      const bool in_place = i < layer.bottoms.size() && layer.bottoms[i] == top;
      check(in_place || (written_.find(top) == written_.end() && !inputs_.contains(top)), ErrorCode::bad_data,
            "layer '{}': its top '{}' was written before, and is not its bottom", layer.name, top);
      node.outputs.push_back(writing_name(top));
      tops_.push_back(node.outputs.back());
    }
    node.attributes = std::move(layer.attributes);
    if (!layer.blobs.empty()) node.attributes["blobs"].value = std::move(layer.blobs);
    model_.graph.nodes.push_back(std::move(node));
  }

  void add_outputs() {
    for (const std::string& top : tops_)
      if (!consumed_.contains(top)) model_.graph.outputs.push_back({top, {}});
  }

  Net net_;
  ImportModel model_;
  std::vector<Layer> layers_, data_;
  Names read_, inputs_, consumed_;
  std::map<std::string, int, std::less<>> versions_, written_;
  std::map<std::string, std::string, std::less<>> current_;
  std::vector<std::string> tops_;
};

} // namespace

void take_blobs(Net& net, Net weights) {
  std::map<std::string, Layer*, std::less<>> trained;
  for (Layer& layer : weights.layers)
    if (!layer.blobs.empty()) trained[layer.name] = &layer;
  check(!trained.empty(), ErrorCode::bad_data, "the weights' file holds no trained layer");
  for (Layer& layer : net.layers)
    if (const auto found = trained.find(layer.name); found != trained.end())
      layer.blobs = found->second->blobs;
}

ImportModel model_of(Net net) {
  return Model(std::move(net)).run();
}

} // namespace lanner::caffe
