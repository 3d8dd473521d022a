#include "output/int8_accuracy.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lanner/preprocess.h>

#include "output/console.h"
#include "output/eval_text.h"
#include "output/paired_evaluation.h"

namespace lanner::tool {
namespace {

constexpr std::int64_t longest_row = 65536;

/// The engine as one of a pair; its context lives as long as the function.
PairedNetwork network_of(const Engine& engine, const std::string& input, const Control& control) {
  const auto context = std::make_shared<Context>(engine.create_context({.keep_results = true}));
  return {engine, [=](const Tensor& pictures) {
            context->bind(input, pictures);
            context->run({}, {control.cancel, {}});
            Outputs outputs;
            for (const Binding& output : engine.outputs())
              if (!output.sequence) outputs[output.name] = context->output(output.name).tensor;
            return outputs;
          }};
}

/// How far the INT8 network's outputs are from FP32's.
class Comparison {
public:
  explicit Comparison(const Engine& engine) : single_(engine.outputs().size() == 1) {}

  void add(const Outputs& expected, const Outputs& got, std::int64_t rows) {
    for (const auto& [name, tensor] : got) add(expected.at(name), tensor, rows);
  }

  void finish(Int8Accuracy& accuracy) const {
    accuracy.compared = compared_;
    accuracy.agreed = agreed_;
    accuracy.snr_db = 10 * std::log10(signal_ / noise_);
  }

private:
  void add(const Tensor& expected, const Tensor& got, std::int64_t rows) {
    if (!is_float(got.dtype())) return;
    const Tensor a = wide(expected), b = wide(got);
    const auto x = a.as<float>(), y = b.as<float>();
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      signal_ += static_cast<double>(x[i]) * x[i];
      noise_ += std::pow(static_cast<double>(x[i]) - y[i], 2);
    }
    const std::int64_t width = a.rank() >= 2 ? a.elements() / a.shape()[0] : 0;
    // A row of classes for each picture, whatever dims of 1 it has.
    if (!single_ || width < 2 || width > longest_row || width != largest_dim(a)) return;
    for (std::int64_t row = 0; row < std::min(rows, a.shape()[0]); ++row) {
      const auto first = static_cast<std::size_t>(row * width), count = static_cast<std::size_t>(width);
      ++compared_;
      agreed_ += std::ranges::max_element(x.subspan(first, count)) - x.begin() ==
                 std::ranges::max_element(y.subspan(first, count)) - y.begin();
    }
  }

  static Tensor wide(const Tensor& tensor) {
    Tensor copy = Tensor::allocate(DType::f32, tensor.shape());
    copy_tensor(tensor, copy);
    return copy;
  }

  static std::int64_t largest_dim(const Tensor& tensor) {
    std::int64_t largest = 1;
    for (std::size_t d = 1; d < tensor.rank(); ++d) largest = std::max(largest, tensor.shape()[d]);
    return largest;
  }

  bool single_; ///< One output only.
  std::int64_t compared_ = 0, agreed_ = 0;
  double signal_ = 0, noise_ = 0;
};

/// 95 % interval of a share, by Wilson.
std::pair<double, double> interval(std::int64_t count, std::int64_t all) {
  constexpr double z = 1.96;
  const double n = static_cast<double>(all), p = static_cast<double>(count) / n, scale = 1 + z * z / n;
  const double middle = (p + z * z / (2 * n)) / scale,
               half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale;
  return {middle - half, middle + half};
}

std::string agreement_text(const Int8Accuracy& accuracy) {
  std::string text;
  if (accuracy.compared > 0) {
    const auto [low, high] = interval(accuracy.agreed, accuracy.compared);
    text = fmt::format("the same answer as FP32 for {} of {} pictures, {:.1f} % ({:.1f} to {:.1f} %); ",
                       accuracy.agreed, accuracy.compared,
                       100 * static_cast<double>(accuracy.agreed) / static_cast<double>(accuracy.compared),
                       100 * low, 100 * high);
  }
  return text + (std::isfinite(accuracy.snr_db)
                     ? fmt::format("outputs' signal-to-noise ratio {:.1f} dB\n", accuracy.snr_db)
                     : std::string("outputs are equal\n"));
}

std::string nodes_text(const Json& decisions) {
  if (decisions.is_null()) return "the model is quantised by its own nodes\n";
  const Json& nodes = decisions["nodes"];
  const auto corrected = decisions.value("bias_corrected_nodes", std::size_t{0}); // absent in older plans
  std::string text = fmt::format("{} of {} convolutions and products are in INT8{}\n",
                                 decisions["int8_nodes"].get<std::size_t>(), nodes.size(),
                                 corrected > 0 ? fmt::format(", {} with corrected biases", corrected) : "");
  if (const auto equalised = decisions.value("equalised_nodes", std::size_t{0}); equalised > 0)
    text += fmt::format("{} read equalised channels\n", equalised);
  Table table({"stays in FP32", "signal to noise", "why"});
  bool any = false;
  for (const Json& node : nodes) {
    if (node["int8"].get<bool>()) continue;
    any = true;
    table.add({one_line(node["node"].get<std::string>()),
               node["snr_db"].is_null() ? "-" : fmt::format("{:.1f} dB", node["snr_db"].get<double>()),
               one_line(node.value("why", ""))});
  }
  return any ? text + table.text() : text;
}

} // namespace

Json Int8Accuracy::json() const {
  Json all = parse_json(int8.to_json());
  all["fp32"] = parse_json(fp32.to_json())["metrics"];
  all["agreement"] = {
      {"compared", compared}, {"agreed", agreed}, {"snr_db", std::isfinite(snr_db) ? Json(snr_db) : Json()}};
  all["int8"] = decisions;
  return all;
}

void fix_picture_shape(const ModelFacts& facts, const PictureInput& picture, int batch, BuildOptions& build) {
  const Binding& input = picture_input(facts.inputs, picture.input);
  if (std::ranges::none_of(input.dims, [](std::int64_t dim) { return dim < 0; })) return;
  std::vector<std::int64_t> dims{batch};
  for (const std::int64_t dim : output_shape(picture.spec, picture.spec.width, picture.spec.height))
    dims.push_back(dim);
  build.shapes.try_emplace(picture.input, ShapeRange::fixed(Shape(std::move(dims))));
}

Int8Engines int8_engines(ModelFacts& facts, const EngineOptions& options, const PictureInput& picture,
                         int batch, BuildOptions build) {
  build.preprocess[picture.input] = picture.spec;
  BuildOptions plain = build;
  plain.precision.types = {DType::f32};
  plain.calibration = {};
  Engine int8 = open_engine(facts, options, std::move(build), batch);
  return {open_engine(facts, options, std::move(plain), batch), std::move(int8)};
}

Int8Accuracy compare_with_fp32(const Int8Engines& engines, const Task& task, const Dataset& data,
                               const EvaluateOptions& options) {
  const auto& [fp32, int8] = engines;
  Int8Accuracy result;
  Comparison comparison(int8);
  PairedEvaluation both = evaluate_pair(
      network_of(fp32, options.input, options.control), network_of(int8, options.input, options.control),
      [&](const Outputs& expected, const Outputs& got, std::int64_t rows) {
        comparison.add(expected, got, rows);
      },
      task, data, options);
  result.fp32 = std::move(both.first);
  result.int8 = std::move(both.second);
  comparison.finish(result);
  if (const auto found = int8.metadata().find("lanner.int8"); found != int8.metadata().end())
    result.decisions = parse_json(found->second);
  return result;
}

std::string comparison_text(const Int8Accuracy& accuracy) {
  Table table({"", "FP32", "INT8", "difference"});
  for (std::size_t i = 0; i < std::min(accuracy.fp32.metrics.size(), accuracy.int8.metrics.size()); ++i) {
    const double before = accuracy.fp32.metrics[i].value, after = accuracy.int8.metrics[i].value;
    table.add({accuracy.int8.metrics[i].title, metric_text(before), metric_text(after),
               std::isnan(after - before) ? "-" : fmt::format("{:+.4f}", after - before)});
  }
  return "INT8 beside FP32\n" + table.text() + agreement_text(accuracy) + "\n" +
         nodes_text(accuracy.decisions);
}

} // namespace lanner::tool
