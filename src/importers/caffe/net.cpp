#include "importers/caffe/net.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "importers/caffe/layer_parameters.h"
#include "importers/protobuf.h"

namespace lanner::caffe {

/// Shared by the readers of all messages.
struct Reading {
  const Limits& limits;
  std::uint64_t taken = 0; ///< Bytes of blobs.
  std::uint64_t layers = 0;
};

namespace {

struct BlobRecord {
  ShapeDims dims;
  std::int64_t old_dims[4] = {0, 0, 0, 0};
  bool has_old = false;
  std::vector<float> values;
};
struct NetRecord {
  Reading* reading;
  Net net;
};

std::string text(FieldValue& value) {
  return std::string(value.bytes());
}

constexpr auto add_value = [](BlobRecord& r, FieldValue& v) {
  r.values.push_back(static_cast<float>(v.real()));
};
template<int i>
constexpr auto set_old_dim =
    [](BlobRecord& r, FieldValue& v) { r.old_dims[i] = v.integer(), r.has_old = true; };

constexpr FieldEntry blob_fields[] = {
    field<BlobRecord, set_old_dim<0>>(1, "num", Wire::varint),
    field<BlobRecord, set_old_dim<1>>(2, "channels", Wire::varint),
    field<BlobRecord, set_old_dim<2>>(3, "height", Wire::varint),
    field<BlobRecord, set_old_dim<3>>(4, "width", Wire::varint),
    field<BlobRecord, add_value>(5, "data", Wire::fixed32),
    field<BlobRecord, [](BlobRecord& r, FieldValue& v) { v.message(shape_fields(), &r.dims); }>(
        7, "shape", Wire::message),
    field<BlobRecord, add_value>(8, "double_data", Wire::fixed64),
};

Tensor blob(FieldValue& value, Reading& reading) {
  BlobRecord record;
  value.message(blob_fields, &record);
  Shape shape;
  std::uint64_t elements = 1;
  if (record.has_old) record.dims.assign(std::begin(record.old_dims), std::end(record.old_dims));
  check_limit("rank", record.dims.size(), reading.limits.rank, "a blob of rank {}", record.dims.size());
  for (std::int64_t size : record.dims) {
    check(size >= 0, ErrorCode::bad_data, "a blob has the negative size {}", size);
    elements = limited_product("tensor_bytes", reading.limits.tensor_bytes, elements,
                               static_cast<std::uint64_t>(size), "elements");
    shape.push_back(size);
  }
  check(elements == record.values.size(), ErrorCode::bad_data, "a blob of shape {} has {} values",
        shape.to_string(), record.values.size());
  reading.taken += elements * sizeof(float);
  check_limit("tensor_bytes", elements * sizeof(float), reading.limits.tensor_bytes, "a blob of {} bytes",
              elements * sizeof(float));
  check_limit("total_bytes", reading.taken, reading.limits.total_bytes, "the net's blobs take {} bytes",
              reading.taken);
  return Tensor::from<float>(record.values, std::move(shape));
}

constexpr EnumName phases[] = {{"TRAIN", 0}, {"TEST", 1}};
constexpr FieldEntry rule_fields[] = {
    field<StateRule, [](StateRule& r, FieldValue& v) { r.phase = v.enumerator(phases); }>(1, "phase",
                                                                                          Wire::varint),
    field<StateRule, [](StateRule& r, FieldValue& v) { r.min_level = v.integer(); }>(2, "min_level",
                                                                                     Wire::varint),
    field<StateRule, [](StateRule& r, FieldValue& v) { r.max_level = v.integer(); }>(3, "max_level",
                                                                                     Wire::varint),
    field<StateRule, [](StateRule& r, FieldValue& v) { r.stages.push_back(text(v)); }>(4, "stage",
                                                                                       Wire::bytes),
};
StateRule state_rule(FieldValue& value) {
  StateRule rule;
  value.message(rule_fields, &rule);
  return rule;
}

template<auto set>
constexpr FieldEntry layer_field(std::uint32_t number, const char* name, Wire wire) {
  return field<LayerRecord, set>(number, name, wire);
}
constexpr auto set_name = [](LayerRecord& r, FieldValue& v) { r.layer.name = text(v); };
constexpr auto add_bottom = [](LayerRecord& r, FieldValue& v) { r.layer.bottoms.push_back(text(v)); };
constexpr auto add_top = [](LayerRecord& r, FieldValue& v) { r.layer.tops.push_back(text(v)); };
constexpr auto add_blob = [](LayerRecord& r, FieldValue& v) { r.layer.blobs.push_back(blob(v, *r.reading)); };
constexpr auto add_include = [](LayerRecord& r, FieldValue& v) { r.layer.include.push_back(state_rule(v)); };
constexpr auto add_exclude = [](LayerRecord& r, FieldValue& v) { r.layer.exclude.push_back(state_rule(v)); };

constexpr FieldEntry layer_fields[] = {
    layer_field<set_name>(1, "name", Wire::bytes),
    layer_field<[](LayerRecord& r, FieldValue& v) { r.layer.type = text(v); }>(2, "type", Wire::bytes),
    layer_field<add_bottom>(3, "bottom", Wire::bytes),
    layer_field<add_top>(4, "top", Wire::bytes),
    layer_field<add_blob>(7, "blobs", Wire::message),
    layer_field<add_include>(8, "include", Wire::message),
    layer_field<add_exclude>(9, "exclude", Wire::message),
};

/// V1LayerParameter.LayerType, with the current names.
constexpr EnumName old_types[] = {{"NONE", 0},
                                  {"ACCURACY", 1},
                                  {"BNLL", 2},
                                  {"CONCAT", 3},
                                  {"CONVOLUTION", 4},
                                  {"DATA", 5},
                                  {"DROPOUT", 6},
                                  {"EUCLIDEAN_LOSS", 7},
                                  {"FLATTEN", 8},
                                  {"HDF5_DATA", 9},
                                  {"HDF5_OUTPUT", 10},
                                  {"IM2COL", 11},
                                  {"IMAGE_DATA", 12},
                                  {"INFOGAIN_LOSS", 13},
                                  {"INNER_PRODUCT", 14},
                                  {"LRN", 15},
                                  {"MULTINOMIAL_LOGISTIC_LOSS", 16},
                                  {"POOLING", 17},
                                  {"RELU", 18},
                                  {"SIGMOID", 19},
                                  {"SOFTMAX", 20},
                                  {"SOFTMAX_LOSS", 21},
                                  {"SPLIT", 22},
                                  {"TANH", 23},
                                  {"WINDOW_DATA", 24},
                                  {"ELTWISE", 25},
                                  {"POWER", 26},
                                  {"SIGMOID_CROSS_ENTROPY_LOSS", 27},
                                  {"HINGE_LOSS", 28},
                                  {"MEMORY_DATA", 29},
                                  {"ARGMAX", 30},
                                  {"THRESHOLD", 31},
                                  {"DUMMY_DATA", 32},
                                  {"SLICE", 33},
                                  {"MVN", 34},
                                  {"ABSVAL", 35},
                                  {"SILENCE", 36},
                                  {"CONTRASTIVE_LOSS", 37},
                                  {"EXP", 38},
                                  {"DECONVOLUTION", 39}};
constexpr const char* new_types[] = {"None",
                                     "Accuracy",
                                     "BNLL",
                                     "Concat",
                                     "Convolution",
                                     "Data",
                                     "Dropout",
                                     "EuclideanLoss",
                                     "Flatten",
                                     "HDF5Data",
                                     "HDF5Output",
                                     "Im2col",
                                     "ImageData",
                                     "InfogainLoss",
                                     "InnerProduct",
                                     "LRN",
                                     "MultinomialLogisticLoss",
                                     "Pooling",
                                     "ReLU",
                                     "Sigmoid",
                                     "Softmax",
                                     "SoftmaxWithLoss",
                                     "Split",
                                     "TanH",
                                     "WindowData",
                                     "Eltwise",
                                     "Power",
                                     "SigmoidCrossEntropyLoss",
                                     "HingeLoss",
                                     "MemoryData",
                                     "ArgMax",
                                     "Threshold",
                                     "DummyData",
                                     "Slice",
                                     "MVN",
                                     "AbsVal",
                                     "Silence",
                                     "ContrastiveLoss",
                                     "Exp",
                                     "Deconvolution"};

std::string old_type(FieldValue& value) {
  const std::int64_t number = value.enumerator(old_types);
  check(number >= 0 && number < static_cast<std::int64_t>(std::size(new_types)), ErrorCode::bad_data,
        "layer type {} is not defined in caffe.proto", number);
  return new_types[number];
}

constexpr FieldEntry old_layer_fields[] = {
    layer_field<[](LayerRecord&, FieldValue&) {
      fail(ErrorCode::unsupported,
           "the net is in Caffe's oldest format (V0); convert it with Caffe's upgrade_net_proto");
    }>(1, "layer", Wire::message),
    layer_field<add_bottom>(2, "bottom", Wire::bytes),
    layer_field<add_top>(3, "top", Wire::bytes),
    layer_field<set_name>(4, "name", Wire::bytes),
    layer_field<[](LayerRecord& r, FieldValue& v) { r.layer.type = old_type(v); }>(5, "type", Wire::varint),
    layer_field<add_blob>(6, "blobs", Wire::message),
    layer_field<add_include>(32, "include", Wire::message),
    layer_field<add_exclude>(33, "exclude", Wire::message),
};

/// Fields of layers of either age that do not affect the result.
constexpr const char* ignored_fields[] = {"phase",
                                          "loss_weight",
                                          "param",
                                          "propagate_down",
                                          "blob_share_mode",
                                          "blobs_lr",
                                          "weight_decay",
                                          "loss_param",
                                          "accuracy_param",
                                          "contrastive_loss_param",
                                          "data_param",
                                          "dropout_param",
                                          "embed_param",
                                          "hdf5_data_param",
                                          "hdf5_output_param",
                                          "hinge_loss_param",
                                          "image_data_param",
                                          "infogain_loss_param",
                                          "parameter_param",
                                          "python_param",
                                          "recurrent_param",
                                          "sigmoid_param",
                                          "spp_param",
                                          "swish_param",
                                          "tanh_param",
                                          "window_data_param"};

/// The layer's own fields and those of its parameters. Forks of Caffe add messages for their own layers.
std::vector<FieldEntry> with(std::span<const FieldEntry> parameters, std::span<const FieldEntry> own) {
  std::vector<FieldEntry> all(own.begin(), own.end());
  all.insert(all.end(), parameters.begin(), parameters.end());
  for (const char* name : ignored_fields) all.push_back(ignored_field(name));
  all.push_back(no_other_fields("_param"));
  return all;
}

void add_layer(NetRecord& r, FieldValue& value, std::span<const FieldEntry> fields) {
  ++r.reading->layers;
  check_limit("nodes", r.reading->layers, r.reading->limits.nodes, "{} layers", r.reading->layers);
  LayerRecord record{r.reading, {}};
  with_context([&] { return fmt::format("layer '{}'", record.layer.name); },
               [&] { value.message(fields, &record); });
  r.net.layers.push_back(std::move(record.layer));
}

constexpr FieldEntry net_fields[] = {
    field<NetRecord, [](NetRecord& r, FieldValue& v) { r.net.name = text(v); }>(1, "name", Wire::bytes),
    field<NetRecord,
          [](NetRecord& r, FieldValue& v) {
            static const std::vector<FieldEntry> fields = with(old_layer_parameters(), old_layer_fields);
            add_layer(r, v, fields);
          }>(2, "layers", Wire::message),
    field<NetRecord, [](NetRecord& r, FieldValue& v) { r.net.inputs.push_back(text(v)); }>(3, "input",
                                                                                           Wire::bytes),
    field<NetRecord, [](NetRecord& r, FieldValue& v) { r.net.input_dims.push_back(v.integer()); }>(
        4, "input_dim", Wire::varint),
    field<NetRecord,
          [](NetRecord& r, FieldValue& v) { v.message(shape_fields(), &r.net.input_shapes.emplace_back()); }>(
        8, "input_shape", Wire::message),
    field<NetRecord,
          [](NetRecord& r, FieldValue& v) {
            static const std::vector<FieldEntry> fields = with(layer_parameters(), layer_fields);
            add_layer(r, v, fields);
          }>(100, "layer", Wire::message),
};

bool looks_like_binary(std::span<const std::byte> bytes) {
  using Type = protozero::pbf_wire_type;
  bool layers = false;
  try {
    protozero::pbf_reader message(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (int i = 0; i < 64 && message.next(); ++i) {
      const auto tag = message.tag();
      const bool number = tag == 4 || tag == 5 || tag == 7, known = (tag >= 1 && tag <= 8) || tag == 100;
      if (!known || (!number && message.wire_type() != Type::length_delimited)) return false;
      layers = layers || tag == 2 || tag == 3 || tag == 100;
      message.skip();
    }
  } catch (const protozero::exception&) {
    // The text is cut off: decide by the fields before that.
  }
  return layers;
}

bool looks_like_text(std::span<const std::byte> bytes) {
  static const std::set<std::string, std::less<>> known{"name",           "layer",      "layers",
                                                        "input",          "input_dim",  "state",
                                                        "force_backward", "debug_info", "input_shape"};
  const std::vector<std::string> names = leading_fields(bytes, 16);
  return !names.empty() &&
         std::ranges::all_of(names, [](const std::string& name) { return known.contains(name); });
}

} // namespace

bool looks_like_net(std::span<const std::byte> bytes) {
  return looks_like_text(bytes) || looks_like_binary(bytes);
}

Net read_net(const Content& content, const Limits& limits) {
  Reading reading{limits};
  NetRecord record{&reading, {}};
  if (looks_like_text(content.bytes))
    read_protobuf_text(content.bytes, net_fields, &record, limits);
  else
    read_protobuf(content.bytes, net_fields, &record, limits);
  return std::move(record.net);
}

} // namespace lanner::caffe
