#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/signal/fourier.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// dft and stft.

static std::int64_t checked_length(std::int64_t length, std::string_view what) {
  check(length >= 1 && length <= INT32_MAX, ErrorCode::invalid_argument, "{} is {}, expected 1 to {}", what,
        length, INT32_MAX);
  return length;
}

struct DftModes {
  bool inverse, onesided;
  static DftModes read(const AttributeMap& attributes) {
    return {attributes.flag("inverse"), attributes.flag("onesided")};
  }
  bool to_real() const { return inverse && onesided; }
};

static void check_signal(const Type& x, std::size_t rank) {
  check(x.rank() >= rank, ErrorCode::invalid_argument, "signal is {}, expected rank {} or more",
        x.to_string(), rank);
  const Dim& parts = x.dims().back();
  check(!parts.is_constant() || parts.value() == 1 || parts.value() == 2, ErrorCode::invalid_argument,
        "the signal's last size is {}, expected 1 (real) or 2 (complex)", parts.to_string());
}

static std::size_t signal_axis(std::int64_t axis, std::size_t rank) {
  const std::size_t resolved = resolve_axis(axis, rank);
  check(resolved + 1 < rank, ErrorCode::invalid_argument,
        "axis {} holds real and imaginary parts, expected a signal axis", axis);
  return resolved;
}

static void infer_dft(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return infer_like(context);
  check_signal(x, 2);
  const DftModes modes = DftModes::read(context.attributes());
  Dims dims = x.dims();
  const std::optional<Dim> axis = context.has(2) ? known_scalar(context, 2) : Dim(-2);
  std::optional<Dim> length = context.has(1) ? known_scalar(context, 1) : std::nullopt;
  dims.back() = Dim(modes.to_real() ? 1 : 2);
  if (!axis || !axis->is_constant()) {
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) dims[d] = context.fresh("transformed", INT32_MAX);
    return context.set_output(0, x.with_dims(std::move(dims)));
  }
  Dim& size = dims[signal_axis(axis->value(), x.rank())];
  if (!length && !context.has(1)) length = modes.to_real() ? (size - 1) * 2 : size;
  if (!length)
    size = context.fresh("transformed", INT32_MAX);
  else
    size = modes.onesided && !modes.inverse ? floor_div(*length, 2) + 1 : *length;
  context.set_output(0, x.with_dims(std::move(dims)));
}

/// One line of a signal along an axis, truncated or padded with zeros to `length`.
static ComplexList read_line(const double* x, std::int64_t count, std::int64_t step, bool complex,
                             std::int64_t length) {
  ComplexList line(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < std::min(count, length); ++i)
    line[static_cast<std::size_t>(i)] = {x[i * step], complex ? x[i * step + 1] : 0.0};
  return line;
}

// A one-sided spectrum holds the first half; the rest mirrors it.
static void mirror_spectrum(ComplexList& spectrum) {
  for (std::size_t k = spectrum.size() / 2 + 1; k < spectrum.size(); ++k)
    spectrum[k] = std::conj(spectrum[spectrum.size() - k]);
}

static void run_dft(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const DftModes modes = DftModes::read(context.attributes());
  const Tensor x = to_dtype(context.input(0), DType::f64);
  const std::size_t axis =
      signal_axis(context.has(2) ? read_integer(context.input(2), "axis") : -2, x.rank());
  const AxisView from = view_axis(x.shape(), axis), to = view_axis(context.output(0).shape(), axis);
  const std::int64_t in_parts = x.shape().back(), out_parts = modes.to_real() ? 1 : 2;
  const std::int64_t natural = modes.to_real() ? 2 * (from.size - 1) : from.size;
  const std::int64_t length =
      checked_length(context.has(1) ? read_integer(context.input(1), "dft_length") : natural, "dft_length");
  const std::int64_t lines = from.inner / in_parts;
  for_each_row(context.threads(), from.outer * lines, [&](std::int64_t row) {
    const std::int64_t o = row / lines, i = row % lines;
    const double* in = x.as<double>().data() + o * from.size * from.inner + i * in_parts;
    ComplexList line = read_line(in, from.size, from.inner, in_parts == 2, length);
    if (modes.to_real()) mirror_spectrum(line);
    const ComplexList result = fourier_transform(line, modes.inverse ? 1 : -1);
    const double scale = modes.inverse ? 1 / static_cast<double>(length) : 1;
    double* out = y.as<double>().data() + o * to.size * to.inner + i * out_parts;
    for (std::int64_t k = 0; k < to.size; ++k) {
      const Complex value = result[static_cast<std::size_t>(k)] * scale;
      out[k * to.inner] = value.real();
      if (out_parts == 2) out[k * to.inner + 1] = value.imag();
    }
  });
  y.store();
}

static void infer_stft(InferContext& context) {
  const Type& x = context.input(0);
  require_rank(context, 0, 3);
  const std::optional<Dim> step = known_scalar(context, 1);
  std::optional<Dim> length = context.has(3) ? known_scalar(context, 3) : std::nullopt;
  if (!context.has(3) && context.has(2) && context.input(2).ranked()) {
    require_rank(context, 2, 1);
    length = context.input(2).dims()[0];
  }
  if (!context.has(3) && !context.has(2) && x.ranked()) length = x.dims()[1];
  const bool known = step && step->is_constant() && length && x.ranked();
  if (known) checked_length(step->value(), "frame_step");
  const Dim frames = known ? floor_div(x.dims()[1] - *length, *step) + 1 : context.fresh("frames", INT32_MAX);
  check(!frames.is_constant() || frames.value() >= 0, ErrorCode::invalid_argument,
        "a frame does not fit the signal {}", x.to_string());
  Dim bins = length ? *length : context.fresh("bins", INT32_MAX);
  if (length && context.attributes().flag("onesided", true)) bins = floor_div(*length, 2) + 1;
  const Dim batch = x.ranked() ? x.dims()[0] : context.fresh("batch", INT32_MAX);
  if (x.ranked()) check_signal(x, 3);
  context.set_output(0, Type(x.dtype(), Dims{batch, frames, bins, Dim(2)}));
}

static void run_stft(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const Tensor x = to_dtype(context.input(0), DType::f64);
  const std::int64_t samples = x.shape()[1], parts = x.shape()[2];
  const std::int64_t step = checked_length(read_integer(context.input(1), "frame_step"), "frame_step");
  std::int64_t length = context.has(2) ? context.input(2).elements() : samples;
  if (context.has(3)) length = read_integer(context.input(3), "frame_length");
  checked_length(length, "frame_length");
  const std::vector<double> window = context.has(2)
                                         ? doubles_of(context.input(2))
                                         : std::vector<double>(static_cast<std::size_t>(length), 1.0);
  check(static_cast<std::int64_t>(window.size()) == length, ErrorCode::invalid_argument,
        "the window has {} values, expected frame_length {}", window.size(), length);
  const Shape& shape = context.output(0).shape();
  const std::int64_t frames = shape[1], bins = shape[2];
  for_each_row(context.threads(), shape[0] * frames, [&](std::int64_t row) {
    const double* in = x.as<double>().data() + (row / frames * samples + row % frames * step) * parts;
    ComplexList frame = read_line(in, length, parts, parts == 2, length);
    for (std::size_t i = 0; i < frame.size(); ++i) frame[i] *= window[i];
    const ComplexList spectrum = fourier_transform(frame, -1);
    for (std::int64_t k = 0; k < bins; ++k) {
      const auto at = static_cast<std::size_t>((row * bins + k) * 2);
      y.as<double>()[at] = spectrum[static_cast<std::size_t>(k)].real();
      y.as<double>()[at + 1] = spectrum[static_cast<std::size_t>(k)].imag();
    }
  });
  y.store();
}

std::vector<OpDef> dft_ops() {
  OpDef dft{.name = "dft",
            .min_inputs = 1,
            .max_inputs = 3,
            .operands = {{"signal", dtypes::floats, 0, "_ ... _"},
                         one_element("dft_length", dtypes::counts),
                         one_element("axis", dtypes::counts)},
            .attributes = {flag_attribute("inverse", false), flag_attribute("onesided", false)},
            .infer = infer_dft,
            .reference = run_dft,
            .expand = {},
            .traits = {.pattern = Pattern::contraction, .accumulates = true}};
  OpDef stft{.name = "stft",
             .min_inputs = 2,
             .max_inputs = 4,
             .operands = {{"signal", dtypes::floats, 'T', "N L _"},
                          one_element("frame_step", dtypes::counts),
                          {"window", dtypes::floats, 'T', "_"},
                          one_element("frame_length", dtypes::counts)},
             .attributes = {flag_attribute("onesided", true)},
             .infer = infer_stft,
             .reference = run_stft,
             .expand = {},
             .traits = {.pattern = Pattern::contraction, .accumulates = true}};
  return {std::move(dft), std::move(stft)};
}

} // namespace lanner::ops
