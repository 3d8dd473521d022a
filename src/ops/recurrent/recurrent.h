#pragma once
// Shared by lstm, gru and rnn: shapes, directions, sequence lengths, activations and the products with the
// weights.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits/counted_vector.h"
#include "ops/definition/visit.h"
#include "ops/product/matrix_product.h"
#include "ops/recurrent/cell_activation.h"

namespace lanner::ops {

/// The gates of an operator.
struct RecurrentKind {
  std::int64_t gates = 0;               ///< 0 for other operators.
  std::vector<std::string> activations; ///< Defaults for one direction.
};
RecurrentKind recurrent_kind(std::string_view op);

/// The activations of each direction.
std::vector<std::vector<CellActivation>> cell_activations(const AttributeMap& attributes,
                                                          const RecurrentKind& kind);

struct RecurrentShape {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1, gates = 1;
  bool batch_first = false, reverse = false;

  /// The sizes given by the shapes of X and R.
  static RecurrentShape of(const AttributeMap& attributes, const Shape& x, const Shape& r,
                           std::int64_t gates);
  std::int64_t width() const { return gates * hidden; }
  /// Whether direction `d` runs backwards.
  bool reversed(std::int64_t d) const { return reverse || d == 1; }
  /// Index of the vector of a step, batch row or direction.
  std::int64_t input_row(std::int64_t t, std::int64_t b) const {
    return batch_first ? b * steps + t : t * batch + b;
  }
  std::int64_t output_row(std::int64_t t, std::int64_t d, std::int64_t b) const {
    return batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b;
  }
  std::int64_t state_row(std::int64_t d, std::int64_t b) const {
    return batch_first ? b * directions + d : d * batch + b;
  }
};

/// The definition of `lstm`, `gru` or `rnn`. `own`: attributes that the others do not have.
OpDef recurrent_op(std::string_view name, std::function<void(KernelContext&)> reference,
                   const std::vector<AttributeSpec>& own = {});
/// Throws Error{invalid_argument} for a length beyond the input.
void check_sequence_length(std::int64_t length, const RecurrentShape& shape);
/// Sequence length of each batch row.
std::vector<std::int64_t> sequence_lengths(const KernelContext& context, const RecurrentShape& shape);

/// One direction's weights. Matrices are transposed: row k holds the contribution of input k to each gate.
template<typename T>
struct DirectionWeights {
  CountedVector<T> recurrence;        ///< [hidden, gates * hidden]
  std::span<const T> recurrence_bias; ///< [gates * hidden], or empty.
  std::span<const T> peepholes;       ///< [3 * hidden], or empty.
  const std::vector<CellActivation>* activations;
};

/// Adds one vector's product with columns [first, first + count) of a matrix of `width` columns to `out`.
template<typename T>
void add_product(std::span<const T> vector, const T* matrix, std::int64_t width, std::int64_t first,
                 std::int64_t count, T* out) {
  for (std::size_t k = 0; k < vector.size(); ++k) {
    const T* row = matrix + static_cast<std::int64_t>(k) * width + first;
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) out[j] += vector[k] * row[j];
  }
}

template<typename T>
CountedVector<T> transposed_rows(const T* matrix, std::int64_t rows, std::int64_t columns) {
  CountedVector<T> result(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      result[static_cast<std::size_t>(j * rows + i)] = matrix[i * columns + j];
  return result;
}

/// The state of one batch row in one direction.
template<typename T>
struct CellState {
  CountedVector<T> hidden, cell, gates; ///< `gates` is scratch of gates * hidden values.
};

/// Runs the cells over all directions, rows and steps. `step(weights, x_gates, state)` advances the state by
/// one step, where x_gates are the input's products plus its bias.
template<typename T, typename Step>
class RecurrentRun {
public:
  RecurrentRun(KernelContext& context, std::int64_t gates, Step step)
      : context_(context), shape_(shape_of(context, gates)), step_(std::move(step)), x_(wide(0)), w_(wide(1)),
        r_(wide(2)), b_(wide(3)), h_(wide(5)), c_(has_cell() ? wide(6) : Tensor()),
        p_(has_cell() ? wide(7) : Tensor()) {}

  void run(const std::vector<std::vector<CellActivation>>& activations) {
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < context_.outputs(); ++i)
      results.push_back(Tensor::zeros(dtype_of<T>(), context_.output(i).shape()));
    const std::vector<std::int64_t> lengths = sequence_lengths(context_, shape_);
    for (std::int64_t d = 0; d < shape_.directions; ++d) {
      const CountedVector<T> x_gates = input_products(d);
      const DirectionWeights<T> weights = direction_weights(d, activations[static_cast<std::size_t>(d)]);
      for_each_row(context_.threads(), shape_.batch, [&](std::int64_t b) {
        run_row(d, b, lengths[static_cast<std::size_t>(b)], x_gates, weights, results);
      });
    }
    for (std::size_t i = 0; i < results.size(); ++i) copy_tensor(results[i], context_.output(i));
  }

private:
  static RecurrentShape shape_of(const KernelContext& context, std::int64_t gates) {
    return RecurrentShape::of(context.attributes(), context.input(0).shape(), context.input(2).shape(),
                              gates);
  }
  bool has_cell() const { return shape_.gates == 4; }
  std::int64_t width() const { return shape_.width(); }
  Tensor wide(std::size_t i) const {
    return context_.has(i) ? to_dtype(context_.input(i), dtype_of<T>()) : Tensor();
  }
  std::span<const T> part(const Tensor& tensor, std::int64_t first, std::int64_t count) const {
    if (!tensor.defined()) return {};
    return tensor.as<T>().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }

  CountedVector<T> input_products(std::int64_t d) const {
    const CountedVector<T> weights =
        transposed_rows(w_.as<T>().data() + d * width() * shape_.inputs, width(), shape_.inputs);
    CountedVector<T> products(static_cast<std::size_t>(shape_.steps * shape_.batch * width()));
    multiply<T>(MatrixProduct::single(shape_.steps * shape_.batch, shape_.inputs, width()), x_.as<T>(),
                weights, products, context_.threads());
    const std::span<const T> bias = part(b_, d * 2 * width(), width());
    for (std::size_t i = 0; !bias.empty() && i < products.size(); ++i) products[i] += bias[i % bias.size()];
    return products;
  }

  DirectionWeights<T> direction_weights(std::int64_t d,
                                        const std::vector<CellActivation>& activations) const {
    return {transposed_rows(r_.as<T>().data() + d * width() * shape_.hidden, width(), shape_.hidden),
            part(b_, (d * 2 + 1) * width(), width()), part(p_, d * 3 * shape_.hidden, 3 * shape_.hidden),
            &activations};
  }

  CountedVector<T> initial(const Tensor& tensor, std::int64_t row) const {
    const std::span<const T> given = part(tensor, row * shape_.hidden, shape_.hidden);
    if (given.empty()) return CountedVector<T>(static_cast<std::size_t>(shape_.hidden), T{0});
    return {given.begin(), given.end()};
  }

  void run_row(std::int64_t d, std::int64_t b, std::int64_t length, const CountedVector<T>& x_gates,
               const DirectionWeights<T>& weights, std::vector<Tensor>& results) const {
    const std::int64_t state_row = shape_.state_row(d, b);
    CellState<T> state{initial(h_, state_row), initial(c_, state_row),
                       CountedVector<T>(static_cast<std::size_t>(width()))};
    const auto store = [&](std::size_t output, std::int64_t row, const CountedVector<T>& values) {
      if (output >= results.size()) return;
      std::copy(values.begin(), values.end(), results[output].template as<T>().begin() + row * shape_.hidden);
    };
    for (std::int64_t s = 0; s < length; ++s) {
      const std::int64_t t = shape_.reversed(d) ? length - 1 - s : s;
      step_(weights, x_gates.data() + shape_.input_row(t, b) * width(), state);
      store(0, shape_.output_row(t, d, b), state.hidden);
    }
    store(1, state_row, state.hidden);
    store(2, state_row, state.cell);
  }

  KernelContext& context_;
  RecurrentShape shape_;
  Step step_;
  Tensor x_, w_, r_, b_, h_, c_, p_;
};

template<typename T, typename Step>
void run_recurrent(KernelContext& context, std::string_view op, Step step) {
  const RecurrentKind kind = recurrent_kind(op);
  RecurrentRun<T, Step>(context, kind.gates, std::move(step))
      .run(cell_activations(context.attributes(), kind));
}

} // namespace lanner::ops
