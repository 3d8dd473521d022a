#include "importers/onnx/onnx_writer.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include <lanner/error.h>
#include <lanner/version.h>

#include "base/check.h"
#include "graph/op.h"
#include "importers/onnx/onnx_tensor.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

constexpr std::int64_t min_version = 21;
/// Protobuf's own limit on a message.
constexpr std::uint64_t max_bytes = (std::uint64_t{1} << 31) - 1;

/// Operators without regions or sequences that operator set 21 has.
constexpr const char* names =
    "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization "
    "Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike Ceil Celu "
    "CenterCropPad Clip Col2Im Compress Concat ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
    "CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu "
    "Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm "
    "GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization "
    "HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN "
    "LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization LpPool MatMul "
    "MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish "
    "Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Or PRelu Pad Pow "
    "QLinearConv QLinearMatMul QuantizeLinear RNN RandomNormal RandomNormalLike RandomUniform "
    "RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
    "ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence "
    "RoiAlign Round STFT ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice "
    "Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split Sqrt Squeeze StringConcat "
    "StringNormalizer StringSplit Sub Sum Tan Tanh TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu "
    "Unique Unsqueeze Where Xor";

struct Newer {
  const char* name;
  std::int64_t version;
};
constexpr Newer newer_names[] = {
    {"Attention", 23},       {"RMSNormalization", 23}, {"RotaryEmbedding", 23}, {"Swish", 24},
    {"TensorScatter", 24},   {"BitCast", 26},          {"CumProd", 26},         {"CausalConvWithState", 27},
    {"LinearAttention", 27}, {"SwiGLU", 28},
};

struct NewerAttribute {
  const char *op, *attribute;
  std::int64_t version;
};
constexpr NewerAttribute newer_attributes[] = {
    {"cast", "round_mode", 24},
    {"cast_like", "round_mode", 24},
    {"dequantize_linear", "output_dtype", 23},
    {"quantize_linear", "precision", 23},
    {"range", "stash_type", 27},
    {"space_to_depth", "mode", 28},
};

struct OnnxOperator {
  std::string name;
  std::int64_t version = min_version;
};

const std::map<std::string, OnnxOperator, std::less<>>& operators() {
  static const auto table = [] {
    std::map<std::string, OnnxOperator, std::less<>> made;
    std::istringstream list(names);
    for (std::string name; list >> name;) made[snake_case(name)] = {name};
    for (const Newer& newer : newer_names) made[snake_case(newer.name)] = {newer.name, newer.version};
    return made;
  }();
  return table;
}

/// A protobuf message being written.
class Message {
public:
  Message& integer(std::uint32_t field, std::int64_t value) {
    protozero::pbf_writer(data).add_int64(field, value);
    return *this;
  }
  Message& real(std::uint32_t field, double value) {
    protozero::pbf_writer(data).add_float(field, static_cast<float>(value));
    return *this;
  }
  Message& text(std::uint32_t field, std::string_view value) {
    protozero::pbf_writer(data).add_bytes(field, value.data(), value.size());
    return *this;
  }
  Message& message(std::uint32_t field, const Message& value) { return text(field, value.data); }

  std::string data;
};

Message tensor_message(std::string_view name, const Tensor& tensor) {
  Message made;
  for (const std::int64_t size : tensor.shape()) made.integer(1, size);
  made.integer(2, onnx_of_dtype(tensor.dtype()));
  if (tensor.dtype() == DType::string)
    for (const std::string& word : tensor.as<std::string>()) made.text(6, word);
  made.text(8, name);
  if (tensor.dtype() == DType::string) return made;
  const Tensor plain = tensor.layout().row_major() ? tensor : tensor.clone();
  check(plain.bytes() <= max_bytes, ErrorCode::unsupported, "an ONNX file cannot hold a tensor of {} bytes",
        plain.bytes());
  return made.text(9, {static_cast<const char*>(plain.data()), plain.bytes()});
}

Message value_message(std::string_view name, const Type& type) {
  check(type.is_tensor(), ErrorCode::unsupported, "%{} is not a tensor", name);
  Message of_tensor = Message().integer(1, onnx_of_dtype(type.dtype()));
  if (type.ranked()) {
    Message shape;
    for (const Dim& dim : type.dims()) {
      const auto size = dim.constant();
      shape.message(1, size ? Message().integer(1, *size) : Message().text(2, dim.to_string()));
    }
    of_tensor.message(2, shape);
  }
  return Message().text(1, name).message(2, Message().message(1, of_tensor));
}

/// An attribute's value by kind: the field that holds it and the number of its type.
struct AttributeWriter {
  Message& made;

  void operator()(std::int64_t value) const { made.integer(3, value).integer(20, 2); }
  void operator()(double value) const { made.real(2, value).integer(20, 1); }
  void operator()(const std::string& value) const { made.text(4, value).integer(20, 3); }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t value : values) made.integer(8, value);
    made.integer(20, 7);
  }
  void operator()(const std::vector<double>& values) const {
    for (const double value : values) made.real(7, value);
    made.integer(20, 6);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) made.text(9, value);
    made.integer(20, 8);
  }
  void operator()(DType value) const { made.integer(3, onnx_of_dtype(value)).integer(20, 2); }
  void operator()(const Tensor& value) const { made.message(5, tensor_message("", value)).integer(20, 4); }
  void operator()(const Type&) const {
    fail(ErrorCode::unsupported, "an attribute is a type, which ONNX cannot express");
  }
};

class Writer {
public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string run(std::string_view description) {
    Message body = graph_message();
    Message model;
    model.integer(1, file_version()).text(2, "lanner").text(3, version());
    if (!description.empty()) model.text(6, description);
    model.message(7, body).message(8, Message().text(1, "").integer(2, version_));
    check(model.data.size() <= max_bytes, ErrorCode::unsupported,
          "an ONNX file cannot hold more than {} bytes", max_bytes);
    return std::move(model.data);
  }

private:
  /// The ONNX IR version that came with the operator set.
  std::int64_t file_version() const {
    return version_ <= 22 ? 10 : version_ == 23 ? 11 : version_ == 24 ? 12 : 13;
  }

  Message graph_message() {
    Message made;
    for (const auto& node : graph_.body().nodes())
      if (node->kind() != "constant") made.message(1, node_message(*node));
    const auto outputs = graph_.body().outputs();
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (graph_.output_names()[o] != outputs[o]->name())
        made.message(
            1, Message().text(1, outputs[o]->name()).text(2, graph_.output_names()[o]).text(4, "Identity"));
    made.text(2, graph_.name);
    for (const auto& node : graph_.body().nodes())
      if (node->kind() == "constant")
        made.message(5, tensor_message(node->output()->name(), *node->output()->constant()));
    for (const auto& input : graph_.body().parameters())
      made.message(11, value_message(input->name(), input->type));
    for (std::size_t o = 0; o < outputs.size(); ++o)
      made.message(12, value_message(graph_.output_names()[o], outputs[o]->type));
    return made;
  }

  Message node_message(const Node& node) {
    const auto found = operators().find(node.kind());
    check(found != operators().end() && node.regions().empty(), ErrorCode::unsupported,
          "ONNX has no form for {}", node.kind());
    version_ = std::max(version_, found->second.version);
    Message made;
    std::size_t inputs = node.inputs().size();
    while (inputs > 0 && !node.input(inputs - 1)) --inputs;
    for (std::size_t i = 0; i < inputs; ++i) made.text(1, node.input(i) ? node.input(i)->name() : "");
    for (const auto& output : node.outputs()) made.text(2, output->name());
    if (!node.sources.empty()) made.text(3, unique_name(node.sources.front()));
    made.text(4, found->second.name);
    for (const auto& [name, value] : node.attributes)
      if (!is_fallback(node, name, value)) made.message(5, attribute_message(node, name, value));
    return made;
  }

  /// One node of the model may have become several, and onnxruntime refuses two nodes of one name.
  std::string unique_name(const std::string& name) {
    std::string unique = name;
    for (int n = 1; !node_names_.insert(unique).second; ++n) unique = fmt::format("{}_{}", name, n);
    return unique;
  }

  /// Attributes equal to their default may be newer than the operator set.
  static bool is_fallback(const Node& node, const std::string& name, const Attribute& value) {
    const auto& specs = node.op().attributes;
    const auto spec = std::ranges::find(specs, name, &AttributeSpec::name);
    if (spec == specs.end() || !spec->fallback || spec->required) return false;
    if (spec->fallback->index() != value.index() || std::holds_alternative<Tensor>(value)) return false;
    return std::visit(
        [&](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, Tensor>)
            return false;
          else
            return held == std::get<T>(*spec->fallback);
        },
        value);
  }

  Message attribute_message(const Node& node, const std::string& name, const Attribute& value) {
    for (const NewerAttribute& newer : newer_attributes)
      if (node.kind() == newer.op && name == newer.attribute) version_ = std::max(version_, newer.version);
    Message made;
    made.text(1, name);
    std::visit(AttributeWriter{made}, value);
    return made;
  }

  const Graph& graph_;
  std::int64_t version_ = min_version;
  std::set<std::string> node_names_;
};

} // namespace

std::int64_t onnx_of_dtype(DType type) {
  for (std::int64_t number = 1; number <= static_cast<std::int64_t>(dtype_count); ++number)
    if (dtype_of_onnx(number) == type) return number;
  fail(ErrorCode::unsupported, "ONNX has no element type {}", to_string(type));
}

std::string write_onnx(const Graph& graph, std::string_view description) {
  return Writer(graph).run(description);
}

} // namespace lanner::onnx
