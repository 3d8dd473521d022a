#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Tables for spectra: hann_window, hamming_window, blackman_window and mel_weight_matrix.

static AttributeSpec output_datatype() {
  return dtype_attribute("output_datatype", DType::f32, dtypes::numbers);
}

static DType table_dtype(const AttributeMap& attributes) {
  return attributes.get<DType>("output_datatype", DType::f32);
}

static Dim known_size(InferContext& context, std::size_t i, std::string_view what) {
  const std::optional<Dim> size = known_scalar(context, i);
  check(!size || !size->is_constant() || size->value() >= 0, ErrorCode::invalid_argument,
        "{} is {}, expected at least 0", what, size ? size->to_string() : "");
  return size ? *size : context.fresh("size", INT32_MAX);
}

static void infer_window(InferContext& context) {
  context.set_output(0, Type(table_dtype(context.attributes()), Dims{known_size(context, 0, "size")}));
}

/// w[n] = a0 + a1 cos(2 pi n / N) + a2 cos(4 pi n / N).
struct CosineWindow {
  double a0, a1, a2;
};

static void run_window(KernelContext& context, const CosineWindow& window) {
  Tensor values = Tensor::allocate(DType::f64, context.output(0).shape());
  const auto count = static_cast<double>(values.elements());
  const double period = context.attributes().flag("periodic", true) ? count : count - 1;
  double n = 0;
  for (double& value : values.as<double>()) {
    const double angle = period == 0 ? 0 : 2 * std::numbers::pi * n++ / period;
    value = window.a0 + window.a1 * std::cos(angle) + window.a2 * std::cos(2 * angle);
  }
  copy_tensor(values, context.output(0));
}

static OpDef window_op(std::string name, CosineWindow window) {
  return OpDef{.name = std::move(name),
               .min_inputs = 1,
               .max_inputs = 1,
               .operands = {one_element("size", dtypes::counts)},
               .attributes = {output_datatype(), flag_attribute("periodic", true)},
               .infer = infer_window,
               .reference = [=](KernelContext& context) { run_window(context, window); },
               .expand = {},
               .traits = of_pattern(Pattern::generation)};
}

static void infer_mel(InferContext& context) {
  const Dim bins = known_size(context, 0, "num_mel_bins"), length = known_size(context, 1, "dft_length");
  context.set_output(0, Type(table_dtype(context.attributes()), Dims{floor_div(length, 2) + 1, bins}));
}

static double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}
static double hertz_of(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

/// Spectrum bins at which the triangles start, peak and end: triangle m spans edges m, m + 1 and m + 2.
static std::vector<std::int64_t> mel_edges(const KernelContext& context, std::int64_t triangles,
                                           std::int64_t last) {
  const auto length = static_cast<double>(read_integer(context.input(1), "dft_length"));
  const double rate = read_real(context.input(2), "sample_rate");
  check(rate > 0, ErrorCode::invalid_argument, "sample_rate is {}, expected more than 0", rate);
  const double low = mel_of(read_real(context.input(3), "lower_edge_hertz"));
  const double high = mel_of(read_real(context.input(4), "upper_edge_hertz"));
  const double step = (high - low) / static_cast<double>(triangles + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < triangles + 2; ++i) {
    const double bin = std::floor((length + 1) * hertz_of(low + step * static_cast<double>(i)) / rate);
    check(bin >= 0 && bin <= static_cast<double>(last), ErrorCode::invalid_argument,
          "an edge is at spectrum bin {} of {}", bin, last + 1);
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  return edges;
}

static void run_mel(KernelContext& context) {
  const Shape& shape = context.output(0).shape();
  Tensor weights = Tensor::zeros(DType::f64, shape);
  if (weights.elements() == 0) return;
  const std::vector<std::int64_t> edges = mel_edges(context, shape[1], shape[0] - 1);
  const auto at = [&](std::int64_t bin, std::int64_t m) -> double& {
    return weights.as<double>()[static_cast<std::size_t>(bin * shape[1] + m)];
  };
  for (std::int64_t m = 0; m < shape[1]; ++m) {
    const auto* edge = edges.data() + m;
    for (std::int64_t bin = edge[0]; bin < edge[1]; ++bin)
      at(bin, m) = static_cast<double>(bin - edge[0]) / static_cast<double>(edge[1] - edge[0]);
    at(edge[1], m) = 1;
    for (std::int64_t bin = edge[1] + 1; bin < edge[2]; ++bin)
      at(bin, m) = static_cast<double>(edge[2] - bin) / static_cast<double>(edge[2] - edge[1]);
  }
  copy_tensor(weights, context.output(0));
}

std::vector<OpDef> signal_window_ops() {
  OpDef mel{.name = "mel_weight_matrix",
            .min_inputs = 5,
            .max_inputs = 5,
            .operands = {one_element("num_mel_bins", dtypes::counts),
                         one_element("dft_length", dtypes::counts),
                         one_element("sample_rate", dtypes::numbers),
                         one_element("lower_edge_hertz", dtypes::numbers),
                         one_element("upper_edge_hertz", dtypes::numbers)},
            .attributes = {output_datatype()},
            .infer = infer_mel,
            .reference = run_mel,
            .expand = {},
            .traits = of_pattern(Pattern::generation)};
  return {window_op("hann_window", {0.5, -0.5, 0}), window_op("hamming_window", {25.0 / 46, -21.0 / 46, 0}),
          window_op("blackman_window", {0.42, -0.5, 0.08}), std::move(mel)};
}

} // namespace lanner::ops
