#include "lower/check/quick_products.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "backends/product/panel.h"
#include "base/limits/account.h"
#include "graph/op.h"
#include "ops/convolution/convolution.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/product/matrix_product.h"

namespace lanner {
namespace {

/// Number of multiplications below which the reference definition is fast enough.
constexpr double few_products = 2e6;
/// Rows below which panels are no faster than the definition.
constexpr std::int64_t few_rows = 4;

std::int64_t pieces_of(std::int64_t whole, std::int64_t piece) {
  return (whole + piece - 1) / piece;
}

/// out[r][j] = sum over d of a[r][d] * b[d][j], for one panel of columns after the other.
struct ProductPart {
  const float* a; ///< rows x depth, dense.
  float* out;
  std::int64_t rows, depth, columns, out_stride;
};

/// Panels of one part: `fill(first, count, from, to, panel)` writes rows [from, to) of b, `count` columns
/// from `first` on, as wide as a panel. Sums of a piece of the depth are added up, as a single chain of
/// thousands would round more than libraries do.
class Panels {
public:
  explicit Panels(std::int64_t rows)
      : panel_(static_cast<std::size_t>(piece * function_.width)),
        sums_(static_cast<std::size_t>(rows * function_.width)) {}

  std::int64_t width() const { return function_.width; }

  template<typename Fill>
  void run(const ProductPart& part, std::int64_t first, const Fill& fill) {
    const std::int64_t width = function_.width, count = std::min(width, part.columns - first);
    for (std::int64_t r = 0; r < part.rows; ++r)
      std::fill_n(part.out + r * part.out_stride + first, count, 0.0F);
    for (std::int64_t from = 0; from < part.depth; from += piece) {
      const std::int64_t to = std::min(part.depth, from + piece);
      std::ranges::fill(panel_, 0.0F);
      fill(first, count, from, to, panel_.data());
      function_.run({part.a + from, panel_.data(), nullptr, sums_.data(), part.depth, width, part.rows,
                     to - from, count});
      for (std::int64_t r = 0; r < part.rows; ++r) {
        float* out = part.out + r * part.out_stride + first;
        for (std::int64_t j = 0; j < count; ++j) out[j] += sums_[static_cast<std::size_t>(r * width + j)];
      }
    }
  }

private:
  static constexpr std::int64_t piece = 512;
  const PanelFunction& function_ = panel_function();
  std::vector<float> panel_, sums_;
};

/// Calls body(part, panels, first column) for all panels of `parts` products, side by side.
template<typename Body>
void for_each_panel(int threads, std::int64_t parts, std::int64_t rows, std::int64_t columns,
                    const Body& body) {
  constexpr std::int64_t at_once = 8; // for which memory is taken once
  const std::int64_t width = panel_function().width, pieces = pieces_of(columns, width * at_once);
  ops::for_each_row(threads, parts * pieces, [&](std::int64_t work) {
    Panels panels(rows);
    const std::int64_t begin = work % pieces * width * at_once,
                       end = std::min(columns, begin + width * at_once);
    for (std::int64_t first = begin; first < end; first += width) {
      check_deadline();
      body(work / pieces, panels, first);
    }
  });
}

/// Sampled indices of `count` elements: some at both ends and some in between at an odd distance, which meets
/// every position within a tile of any size.
std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t at_ends, std::int64_t between) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < std::min(at_ends, count); ++i) list.push_back(i);
  for (std::int64_t i = std::max(at_ends, count - at_ends); i < count; ++i) list.push_back(i);
  const std::int64_t step = std::max<std::int64_t>(count / between, 1) | 1;
  for (std::int64_t i = at_ends; i < count - at_ends; i += step) list.push_back(i);
  return list;
}

/// A sum in double precision, with the error bound of the same sum in single precision.
class Sum {
public:
  void add(double a, double b) {
    value_ += a * b;
    size_ += std::abs(a * b);
  }
  bool agrees(float got) const {
    constexpr double rounding = 4e-5; // of pieces of 512, at worst
    return !std::isfinite(value_) || size_ > 3e38 ||
           std::abs(value_ - static_cast<double>(got)) <= rounding * size_;
  }

private:
  double value_ = 0, size_ = 0;
};

class QuickConv {
public:
  QuickConv(const ops::Convolution& conv, const float* x, const float* w, float* y)
      : conv_(conv), window_(conv.window), x_(x), w_(w), y_(y), depth_(conv.inputs / conv.groups),
        rows_(conv.outputs / conv.groups), taps_(window_.taps()), image_(window_.image_elements()),
        plane_(window_.position_count()) {}

  bool pays() const {
    return rows_ >= few_rows &&
           static_cast<double>(conv_.batch * conv_.outputs * plane_) * static_cast<double>(depth_ * taps_) >
               few_products;
  }

  void run(int threads) const {
    for_each_panel(
        threads, conv_.batch * conv_.groups, rows_, plane_,
        [&](std::int64_t part, Panels& panels, std::int64_t first) {
          const std::int64_t n = part / conv_.groups, g = part % conv_.groups;
          const float* in = x_ + (n * conv_.inputs + g * depth_) * image_;
          const ProductPart product{w_ + g * rows_ * depth_ * taps_,
                                    y_ + (n * conv_.outputs + g * rows_) * plane_,
                                    rows_,
                                    depth_ * taps_,
                                    plane_,
                                    plane_};
          const std::vector<std::int64_t> offsets = offsets_of(first, panels.width());
          panels.run(product, first,
                     [&](std::int64_t, std::int64_t count, std::int64_t from, std::int64_t to, float* panel) {
                       for (std::int64_t d = from; d < to; ++d, panel += panels.width())
                         gather(in + d / taps_ * image_,
                                &offsets[static_cast<std::size_t>(d % taps_ * panels.width())], count, panel);
                     });
        });
  }

  bool agrees() const {
    for (const std::int64_t n : sampled(conv_.batch, 1, 1))
      for (const std::int64_t m : sampled(conv_.outputs, 1, 3))
        for (const std::int64_t position : sampled(plane_, 33, 31))
          if (!element(n, m, position).agrees(y_[(n * conv_.outputs + m) * plane_ + position])) return false;
    return true;
  }

private:
  static void gather(const float* plane, const std::int64_t* offsets, std::int64_t count, float* panel) {
    for (std::int64_t j = 0; j < count; ++j)
      if (offsets[j] >= 0) panel[j] = plane[offsets[j]];
  }

  /// Offset of a tap in the image for this output position; -1: outside of the image.
  std::int64_t tap_offset(std::int64_t position, std::int64_t tap) const {
    std::int64_t offset = 0, size = 1;
    for (std::size_t d = window_.image.size(); d-- > 0;) {
      const std::int64_t at = position % window_.positions[d] * window_.strides[d] +
                              tap % window_.kernel[d] * window_.dilations[d] - window_.begin[d];
      if (at < 0 || at >= window_.image[d]) return -1;
      offset += at * size;
      size *= window_.image[d];
      position /= window_.positions[d];
      tap /= window_.kernel[d];
    }
    return offset;
  }

  /// Offsets of each tap for `width` positions from `first` on.
  std::vector<std::int64_t> offsets_of(std::int64_t first, std::int64_t width) const {
    std::vector<std::int64_t> offsets;
    for (std::int64_t t = 0; t < taps_; ++t)
      for (std::int64_t j = 0; j < width; ++j)
        offsets.push_back(first + j < plane_ ? tap_offset(first + j, t) : -1);
    return offsets;
  }

  Sum element(std::int64_t n, std::int64_t m, std::int64_t position) const {
    const float* in = x_ + (n * conv_.inputs + m / rows_ * depth_) * image_;
    const float* weights = w_ + m * depth_ * taps_;
    Sum sum;
    for (std::int64_t t = 0; t < taps_; ++t)
      if (const std::int64_t at = tap_offset(position, t); at >= 0)
        for (std::int64_t c = 0; c < depth_; ++c) sum.add(in[c * image_ + at], weights[c * taps_ + t]);
    return sum;
  }

  const ops::Convolution& conv_;
  const ops::Window& window_;
  const float *x_, *w_;
  float* y_;
  const std::int64_t depth_, rows_, taps_, image_, plane_;
};

using Operands = std::span<const Item* const>;

Tensor as_floats(const Item& item) {
  return ops::to_dtype(item.tensor, DType::f32);
}

std::optional<Tensor> quick_conv(const Node& node, Operands inputs, const Shape& shape, int threads) {
  const Tensor x = as_floats(*inputs[0]), w = as_floats(*inputs[1]);
  Tensor y = Tensor::allocate(DType::f32, shape, {}, {}, current_limits());
  const auto conv = ops::Convolution::read(node.attributes, x.shape(), w.shape(), shape);
  const QuickConv quick(conv, x.as<float>().data(), w.as<float>().data(), y.as<float>().data());
  if (!quick.pays()) return std::nullopt;
  quick.run(threads);
  if (!quick.agrees()) return std::nullopt;
  if (inputs.size() < 3 || !inputs[2]) return y;
  const Tensor bias = as_floats(*inputs[2]);
  const std::int64_t plane = conv.window.position_count();
  for (std::int64_t row = 0; row < conv.batch * conv.outputs; ++row) {
    const float add = std::as_const(bias).as<float>()[static_cast<std::size_t>(row % conv.outputs)];
    float* out = y.as<float>().data() + row * plane;
    for (std::int64_t i = 0; i < plane; ++i) out[i] += add;
  }
  return y;
}

/// `a` and `b` are dense stacks of matrices.
std::optional<Tensor> multiplied(const ops::MatrixProduct& product, const Tensor& a, const Tensor& b,
                                 const Shape& shape, int threads) {
  const auto matrices = static_cast<std::int64_t>(product.a_starts.size());
  const std::int64_t m = product.rows, k = product.depth, n = product.columns;
  if (m < few_rows || static_cast<double>(matrices * m) * static_cast<double>(k * n) < few_products)
    return std::nullopt;
  Tensor y = Tensor::allocate(DType::f32, shape, {}, {}, current_limits());
  const float *left = a.as<float>().data(), *right = b.as<float>().data();
  float* out = y.as<float>().data();
  const auto start = [](std::span<const std::int64_t> starts, std::int64_t i) {
    return starts[static_cast<std::size_t>(i)];
  };
  for_each_panel(threads, matrices, m, n, [&](std::int64_t i, Panels& panels, std::int64_t first) {
    const float* from_b = right + start(product.b_starts, i);
    panels.run(
        {left + start(product.a_starts, i), out + i * m * n, m, k, n, n}, first,
        [&](std::int64_t column, std::int64_t count, std::int64_t from, std::int64_t to, float* panel) {
          for (std::int64_t d = from; d < to; ++d, panel += panels.width())
            std::copy_n(from_b + d * n + column, count, panel);
        });
  });
  for (const std::int64_t i : sampled(matrices, 1, 1))
    for (const std::int64_t r : sampled(m, 1, 3))
      for (const std::int64_t c : sampled(n, 33, 31)) {
        Sum sum;
        for (std::int64_t d = 0; d < k; ++d)
          sum.add(left[start(product.a_starts, i) + r * k + d],
                  right[start(product.b_starts, i) + d * n + c]);
        if (!sum.agrees(out[(i * m + r) * n + c])) return std::nullopt;
      }
  return y;
}

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result = Tensor::allocate(DType::f32, {columns, rows}, {}, {}, current_limits());
  const float* from = matrix.as<float>().data();
  float* to = result.as<float>().data();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  return result;
}

std::optional<Tensor> quick_gemm(const Node& node, Operands inputs, const Shape& shape, int threads) {
  Tensor a = as_floats(*inputs[0]), b = as_floats(*inputs[1]);
  if (node.attributes.flag("transA")) a = transposed(a);
  if (node.attributes.flag("transB")) b = transposed(b);
  const auto product = ops::MatrixProduct::single(a.shape()[0], a.shape()[1], b.shape()[1]);
  std::optional<Tensor> y = multiplied(product, a, b, shape, threads);
  if (!y) return y;
  const auto alpha = static_cast<float>(node.attributes.real("alpha", 1)),
             beta = static_cast<float>(node.attributes.real("beta", 1));
  const bool adds = inputs.size() > 2 && inputs[2] && beta != 0;
  const Tensor c = adds ? as_floats(*inputs[2]) : Tensor();
  const std::int64_t rows = adds && c.rank() == 2 ? c.shape()[0] : 1,
                     columns = adds && c.rank() >= 1 ? c.shape().back() : 1;
  const float* values = adds ? std::as_const(c).as<float>().data() : nullptr;
  float* out = y->as<float>().data();
  for (std::int64_t i = 0; i < shape[0]; ++i)
    for (std::int64_t j = 0; j < shape[1]; ++j, ++out)
      *out = alpha * *out +
             (adds ? beta * values[(rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j)] : 0.0F);
  return y;
}

std::optional<Tensor> quick_matmul(Operands inputs, const Shape& shape, int threads) {
  const Tensor a = as_floats(*inputs[0]), b = as_floats(*inputs[1]);
  return multiplied(ops::MatrixProduct::read(a.shape(), b.shape()), a, b, shape, threads);
}

bool in_floats(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

} // namespace

std::optional<std::vector<Item>> quick_product(const Node& node, Operands inputs, int threads) {
  const bool conv = node.kind() == "conv", gemm = node.kind() == "gemm";
  if (!conv && !gemm && node.kind() != "matmul") return std::nullopt;
  const Type& type = node.output()->type;
  if (!type.is_tensor() || !in_floats(type.dtype()) || !type.is_static()) return std::nullopt;
  const Shape shape = type.shape();
  std::optional<Tensor> y = conv   ? quick_conv(node, inputs, shape, threads)
                            : gemm ? quick_gemm(node, inputs, shape, threads)
                                   : quick_matmul(inputs, shape, threads);
  if (!y) return std::nullopt;
  std::vector<Item> results(1);
  results[0].tensor = *y;
  if (type.dtype() != DType::f32) {
    results[0].tensor = Tensor::allocate(type.dtype(), shape, {}, {}, current_limits());
    copy_tensor(*y, results[0].tensor);
  }
  return results;
}

} // namespace lanner
