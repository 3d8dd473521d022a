#include "backends/recurrent/sequence.h"

#include <algorithm>

#include "device/parallel.h"

namespace lanner {

namespace {

/// Scratch memory is aligned to vectors.
std::int64_t whole_vectors(std::int64_t floats) {
  return (floats + 15) / 16 * 16;
}

class UnitRun {
public:
  UnitRun(const Recurrence& net, const RecurrentData& data, std::int64_t unit, UnitThreads threads)
      : net_(net), shape_(net.shape), data_(data), threads_(threads), d_(unit / net.blocks()),
        first_(unit % net.blocks() * net.rows), rows_(std::min(net.rows, shape_.batch - first_)),
        panel_(net.functions->panel()) {
    float* next = data.scratch + unit * net.unit_floats();
    const auto take = [&](std::int64_t floats) {
      float* const taken = next;
      next += whole_vectors(floats);
      return taken;
    };
    x_gates_ = take(net.chunk() * net.rows * shape_.width());
    r_gates_ = take(net.rows * shape_.width());
    hidden_ = take(net.rows * shape_.hidden);
    if (net.has_cell) cell_ = take(net.rows * shape_.hidden);
    if (net.reset) kept_ = take(net.rows * shape_.hidden);
  }

  void run() {
    start();
    for (std::int64_t from = 0; from < longest_; from += net_.chunk()) {
      chunk_ = from;
      const std::int64_t to = std::min(from + net_.chunk(), longest_);
      input_products(to);
      for (std::int64_t s = from; s < to; ++s) step(s);
    }
    end();
  }

private:
  std::int64_t length(std::int64_t b) const {
    if (!data_.lengths) return shape_.steps;
    return net_.wide_lengths ? static_cast<const std::int64_t*>(data_.lengths)[first_ + b]
                             : static_cast<const std::int32_t*>(data_.lengths)[first_ + b];
  }
  /// Time index of row b in X and Y at its step s.
  std::int64_t place(std::int64_t s, std::int64_t b) const {
    return shape_.reversed(d_) ? length(b) - 1 - s : s;
  }
  float* x_gates(std::int64_t s, std::int64_t b) const {
    return x_gates_ + ((s - chunk_) * rows_ + b) * shape_.width();
  }

  /// `visit(b, end)` for each range of rows that have a step s.
  template<typename Visit>
  void each_slice(std::int64_t s, Visit visit) const {
    if (!data_.lengths) return visit(0, rows_);
    for (std::int64_t b = 0; b < rows_;) {
      std::int64_t end = b;
      while (end < rows_ && length(end) > s) ++end;
      if (end > b) visit(b, end);
      b = end + 1;
    }
  }

  void start() {
    shortest_ = shape_.steps;
    for (std::int64_t b = 0; b < rows_; ++b) {
      if (data_.lengths) ops::check_sequence_length(length(b), shape_);
      longest_ = std::max(longest_, length(b));
      shortest_ = std::min(shortest_, length(b));
      const std::int64_t row = shape_.state_row(d_, first_ + b) * shape_.hidden;
      begin_state(hidden_ + b * shape_.hidden, data_.hidden ? data_.hidden + row : nullptr);
      if (cell_) begin_state(cell_ + b * shape_.hidden, data_.cell ? data_.cell + row : nullptr);
    }
  }
  void begin_state(float* state, const float* given) const {
    if (given)
      std::copy_n(given, shape_.hidden, state);
    else
      std::fill_n(state, shape_.hidden, 0.0F);
  }

  void end() const {
    for (std::int64_t b = 0; b < rows_; ++b) {
      for (std::int64_t t = length(b); t < shape_.steps; ++t) std::fill_n(out(t, b), shape_.hidden, 0.0F);
      const std::int64_t row = shape_.state_row(d_, first_ + b) * shape_.hidden;
      if (data_.last_hidden) std::copy_n(hidden_ + b * shape_.hidden, shape_.hidden, data_.last_hidden + row);
      if (data_.last_cell) std::copy_n(cell_ + b * shape_.hidden, shape_.hidden, data_.last_cell + row);
    }
  }
  float* out(std::int64_t t, std::int64_t b) const {
    return data_.all + shape_.output_row(t, d_, first_ + b) * shape_.hidden;
  }

  /// The product with the columns of `weights` from `panel` on, limited to existing columns.
  PanelProduct product_of(const float* weights, std::int64_t depth, const float* bias,
                          std::int64_t panel) const {
    const std::int64_t column = panel * panel_.width;
    PanelProduct product{};
    product.panel = weights + (d_ * net_.panels() * panel_.width + column) * depth;
    product.bias = bias ? bias + column : nullptr;
    product.depth = depth;
    product.columns = std::min<std::int64_t>(panel_.width, shape_.width() - column);
    return product;
  }
  /// The first half is added to products with the input, the second to those with the state.
  const float* bias(std::int64_t half) const {
    return data_.bias ? data_.bias + (d_ * 2 + half) * shape_.width() : nullptr;
  }

  /// Products with the input for steps chunk_ up to `to`.
  void input_products(std::int64_t to) const {
    // Reversed rows of different lengths start at different input steps.
    const bool side_by_side = shape_.reversed(d_) ? shortest_ == longest_ : shortest_ >= to;
    parallel_for(threads_.input, 0, net_.panels(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t panel = begin; panel < end; ++panel) {
        const PanelProduct product = product_of(data_.w, shape_.inputs, bias(0), panel);
        if (rows_ > to - chunk_ && side_by_side)
          for (std::int64_t s = chunk_; s < to; ++s) input_product(product, panel, s, 0, rows_, false);
        else
          for (std::int64_t b = 0; b < rows_; ++b)
            input_product(product, panel, chunk_, b, std::min(to, length(b)) - chunk_, true);
      }
    });
  }
  /// For `count` steps of row b, or for `count` rows from b on at step s.
  void input_product(PanelProduct product, std::int64_t panel, std::int64_t s, std::int64_t b,
                     std::int64_t count, bool steps) const {
    if (count <= 0) return;
    const std::int64_t t = place(s, b), row = shape_.input_row(t, first_ + b);
    const std::int64_t next = steps ? shape_.input_row(shape_.reversed(d_) ? t - 1 : t + 1, first_ + b)
                                    : shape_.input_row(t, first_ + b + 1);
    product.rows = count;
    product.a = data_.x + row * shape_.inputs;
    product.a_stride = (next - row) * shape_.inputs;
    product.out = x_gates(s, b) + panel * panel_.width;
    product.out_stride = (steps ? rows_ : 1) * shape_.width();
    panel_.run(product);
  }

  /// Products of `state` with the recurrence's panels from `first` up to `last`, for rows that have a step s.
  void state_products(const float* state, std::int64_t first, std::int64_t last, std::int64_t s) const {
    parallel_for(threads_.state, first, last, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t panel = begin; panel < end; ++panel) {
        PanelProduct product = product_of(data_.r, shape_.hidden, bias(1), panel);
        product.a_stride = shape_.hidden;
        product.out_stride = shape_.width();
        each_slice(s, [&](std::int64_t b, std::int64_t stop) {
          product.rows = stop - b;
          product.a = state + b * shape_.hidden;
          product.out = r_gates_ + b * shape_.width() + panel * panel_.width;
          panel_.run(product);
        });
      }
    });
  }

  void cells(CellFunction function, std::int64_t s) const {
    each_slice(s, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t state = b * shape_.hidden;
        function({x_gates(s, b), r_gates_ + b * shape_.width(), hidden_ + state,
                  cell_ ? cell_ + state : nullptr, kept_ ? kept_ + state : nullptr, out(place(s, b), b),
                  data_.peepholes ? data_.peepholes + d_ * 3 * shape_.hidden : nullptr,
                  net_.activations[static_cast<std::size_t>(d_)].data(), shape_.hidden, net_.input_forget});
      }
    });
  }

  void step(std::int64_t s) const {
    if (!net_.reset) {
      state_products(hidden_, 0, net_.panels(), s);
      return cells(net_.cell, s);
    }
    // A panel may contain the last columns of the reset gate and the first of the candidate: it is then
    // computed twice.
    const std::int64_t gates = 2 * shape_.hidden;
    state_products(hidden_, 0, (gates - 1) / panel_.width + 1, s);
    cells(net_.reset, s);
    state_products(kept_, gates / panel_.width, net_.panels(), s);
    cells(net_.cell, s);
  }

  const Recurrence& net_;
  const ops::RecurrentShape& shape_;
  const RecurrentData& data_;
  UnitThreads threads_;
  std::int64_t d_, first_, rows_; ///< Direction, first row and their count.
  const PanelFunction& panel_;
  std::int64_t longest_ = 0, shortest_ = 0;
  std::int64_t chunk_ = 0;                                                  ///< Its first step.
  float *x_gates_, *r_gates_, *hidden_, *cell_ = nullptr, *kept_ = nullptr; ///< One row of each per row.
};

} // namespace

Recurrence Recurrence::of(std::string_view op, const AttributeMap& attributes,
                          const ops::RecurrentShape& shape, const CellFunctions& functions) {
  Recurrence net;
  net.shape = shape;
  net.functions = &functions;
  net.activations = ops::cell_activations(attributes, ops::recurrent_kind(op));
  net.has_cell = op == "lstm";
  net.input_forget = net.has_cell && attributes.flag("input_forget");
  const bool halves = op == "gru" && !attributes.flag("linear_before_reset");
  if (halves) net.reset = functions.gru_reset;
  net.cell = net.has_cell  ? functions.lstm
             : op == "rnn" ? functions.rnn
             : halves      ? functions.gru_candidate
                           : functions.gru;
  return net;
}

std::int64_t Recurrence::chunk() const {
  // Enough rows per product to use a panel of weights well, and few enough to stay in a core's cache.
  constexpr std::int64_t rows_of_a_chunk = 64;
  return std::clamp<std::int64_t>(rows_of_a_chunk / rows, 1, shape.steps);
}

std::int64_t Recurrence::unit_floats() const {
  const std::int64_t state = whole_vectors(rows * shape.hidden);
  return whole_vectors(chunk() * rows * shape.width()) + whole_vectors(rows * shape.width()) + state +
         (has_cell ? state : 0) + (reset ? state : 0);
}

void run_unit(const Recurrence& net, const RecurrentData& data, std::int64_t unit, UnitThreads threads) {
  UnitRun(net, data, unit, threads).run();
}

} // namespace lanner
