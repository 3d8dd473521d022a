#include "fake_libraries/graph_arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fake_libraries/reals.h"

namespace fake {
namespace {

using Dims = std::vector<std::int64_t>;
using Mode = lanner::cudnn::PointwiseMode;
using Type = lanner::cudnn::AttributeType;

std::int64_t product(const Dims& dims) {
  std::int64_t result = 1;
  for (const std::int64_t size : dims) result *= size;
  return result;
}

Dims dims_of(const Node& tensor) {
  return tensor.list<std::int64_t>(Attribute::tensor_dimensions);
}

/// The offset of element `index` of `dims` in a tensor of sizes `own` and these strides; sizes of 1 repeat.
std::int64_t place(std::int64_t index, const Dims& dims, const Dims& own, const Dims& strides) {
  std::int64_t at = 0;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const std::int64_t i = index % dims[axis];
    index /= dims[axis];
    if (own[axis] != 1) at += i * strides[axis];
  }
  return at;
}

Dims dense(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size() - 1; axis-- > 0;) strides[axis] = strides[axis + 1] * dims[axis + 1];
  return strides;
}

/// The values of a run: virtual tensors by their id, others in the pack's memory.
class Values {
public:
  explicit Values(const Node& pack) {
    const auto uids = pack.list<std::int64_t>(Attribute::pack_unique_ids);
    const auto pointers = pack.list<void*>(Attribute::pack_data_pointers);
    for (std::size_t i = 0; i < uids.size(); ++i) pointers_[uids[i]] = pointers.at(i);
  }

  std::vector<float> read(const Node& tensor) const {
    const auto uid = tensor.number<std::int64_t>(Attribute::tensor_unique_id, 0);
    if (tensor.number<bool>(Attribute::tensor_is_virtual, false)) return inner_.at(uid);
    const Dims dims = dims_of(tensor), strides = tensor.list<std::int64_t>(Attribute::tensor_strides);
    std::vector<float> values(static_cast<std::size_t>(product(dims)));
    const int type = tensor.number<int>(Attribute::tensor_data_type, 0);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = load(pointers_.at(uid), type, place(static_cast<std::int64_t>(i), dims, dims, strides));
    return values;
  }

  void write(const Node& tensor, std::vector<float> values) {
    const auto uid = tensor.number<std::int64_t>(Attribute::tensor_unique_id, 0);
    if (tensor.number<bool>(Attribute::tensor_is_virtual, false)) {
      inner_[uid] = std::move(values);
      return;
    }
    const Dims dims = dims_of(tensor), strides = tensor.list<std::int64_t>(Attribute::tensor_strides);
    const int type = tensor.number<int>(Attribute::tensor_data_type, 0);
    for (std::size_t i = 0; i < values.size(); ++i)
      save(pointers_.at(uid), type, place(static_cast<std::int64_t>(i), dims, dims, strides), values[i]);
  }

private:
  std::map<std::int64_t, void*> pointers_;
  std::map<std::int64_t, std::vector<float>> inner_;
};

struct Convolution {
  Dims x, w, y, pre, post, strides, dilations, x_strides, w_strides, taps;

  explicit Convolution(const Node& op)
      : x(dims_of(*op.links(Attribute::convolution_forward_x).at(0))),
        w(dims_of(*op.links(Attribute::convolution_forward_w).at(0))),
        y(dims_of(*op.links(Attribute::convolution_forward_y).at(0))) {
    const Node& window = *op.links(Attribute::convolution_forward_descriptor).at(0);
    pre = window.list<std::int64_t>(Attribute::convolution_pre_paddings);
    post = window.list<std::int64_t>(Attribute::convolution_post_paddings);
    strides = window.list<std::int64_t>(Attribute::convolution_strides);
    dilations = window.list<std::int64_t>(Attribute::convolution_dilations);
    x_strides = dense(x);
    w_strides = dense(w);
    taps.assign(w.begin() + 1, w.end());
  }
};

/// One element of the result, by its index in N, K, spatial.
float tap_sum(const Convolution& c, const Dims& index, const std::vector<float>& x,
              const std::vector<float>& w) {
  const std::size_t spatial = c.strides.size();
  const std::int64_t groups = c.x[1] / c.w[1], group = index[1] / (c.w[0] / groups);
  const Dims &x_strides = c.x_strides, &taps = c.taps;
  const std::int64_t count = product(taps);
  double sum = 0;
  for (std::int64_t t = 0; t < count; ++t) {
    std::int64_t rest = t, from = index[0] * x_strides[0];
    bool inside = true;
    for (std::size_t axis = spatial; axis-- > 0;) {
      const std::int64_t tap = rest % taps[axis + 1];
      rest /= taps[axis + 1];
      const std::int64_t at = index[axis + 2] * c.strides[axis] + tap * c.dilations[axis] - c.pre[axis];
      inside &= at >= 0 && at < c.x[axis + 2];
      from += at * x_strides[axis + 2];
    }
    from += (group * c.w[1] + rest) * x_strides[1];
    if (inside)
      sum += static_cast<double>(x[static_cast<std::size_t>(from)]) *
             w[static_cast<std::size_t>(index[1] * c.w_strides[0] + t)];
  }
  return static_cast<float>(sum);
}

void run_convolution(const Node& op, Values& values) {
  const Convolution c(op);
  const std::vector<float> x = values.read(*op.links(Attribute::convolution_forward_x)[0]),
                           w = values.read(*op.links(Attribute::convolution_forward_w)[0]);
  std::vector<float> y(static_cast<std::size_t>(product(c.y)));
  Dims index(c.y.size(), 0);
  for (float& value : y) {
    value = tap_sum(c, index, x, w);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < c.y[axis]) break;
      index[axis] = 0;
    }
  }
  values.write(*op.links(Attribute::convolution_forward_y)[0], std::move(y));
}

float pointwise(const Node& mode, float x, float b) {
  const auto number = [&](Attribute attribute, double fallback) {
    return static_cast<float>(mode.number<double>(attribute, fallback));
  };
  switch (static_cast<Mode>(mode.number<int>(Attribute::pointwise_mode, -1))) {
  case Mode::add:
    return x + b;
  case Mode::subtract:
    return x - b;
  case Mode::multiply:
    return x * b;
  case Mode::divide:
    return x / b;
  case Mode::minimum:
    return std::min(x, b);
  case Mode::maximum:
    return std::max(x, b);
  case Mode::relu: {
    const float low = number(Attribute::pointwise_relu_lower_clip, 0);
    const float slope = number(Attribute::pointwise_relu_lower_clip_slope, 0);
    const float high = number(Attribute::pointwise_relu_upper_clip, std::numeric_limits<float>::infinity());
    return x < low ? low + slope * (x - low) : std::min(x, high);
  }
  case Mode::tanh:
    return std::tanh(x);
  case Mode::sigmoid:
    return 1 / (1 + std::exp(-x));
  case Mode::elu:
    return x < 0 ? number(Attribute::pointwise_elu_alpha, 1) * std::expm1(x) : x;
  case Mode::gelu:
    return 0.5F * x * (1 + std::erf(x * 0.70710678F));
  case Mode::gelu_tanh:
    return gelu_tanh(x);
  case Mode::softplus: {
    const float beta = number(Attribute::pointwise_softplus_beta, 1);
    return std::log1p(std::exp(beta * x)) / beta;
  }
  case Mode::swish:
    return x / (1 + std::exp(-number(Attribute::pointwise_swish_beta, 1) * x));
  default:
    return std::numeric_limits<float>::quiet_NaN();
  }
}

void run_pointwise(const Node& op, Values& values) {
  const Node &mode = *op.links(Attribute::operation_pointwise_descriptor).at(0),
             &result = *op.links(Attribute::operation_pointwise_y).at(0);
  const Dims dims = dims_of(result);
  std::vector<float> x = values.read(*op.links(Attribute::operation_pointwise_x).at(0)), b;
  const auto& second = op.links(Attribute::operation_pointwise_b);
  const float scale = op.number<float>(Attribute::operation_pointwise_alpha2, 1);
  if (!second.empty() && scale != 0) b = values.read(*second[0]);
  const Dims own = second.empty() ? dims : dims_of(*second[0]), strides = dense(own);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float other = 0;
    if (!b.empty())
      other = scale * b[static_cast<std::size_t>(place(static_cast<std::int64_t>(i), dims, own, strides))];
    x[i] = pointwise(mode, x[i], other);
  }
  values.write(result, std::move(x));
}

} // namespace

std::size_t size_of(int attribute_type) {
  switch (static_cast<Type>(attribute_type)) {
  case Type::boolean:
    return 1;
  case Type::handle:
  case Type::int64:
  case Type::float64:
  case Type::pointer:
    return 8;
  case Type::data_type:
  case Type::float32:
  case Type::convolution_mode:
  case Type::heuristics_mode:
  case Type::knob_type:
  case Type::numerical_note:
  case Type::pointwise_mode:
  case Type::nan_propagation:
    return 4;
  case Type::descriptor:
    return 0;
  }
  return 0;
}

bool convolution_fits(const Node& operation) {
  const Convolution c(operation);
  const std::size_t spatial = c.strides.size();
  if (c.x.size() != spatial + 2 || c.w.size() != spatial + 2 || c.y.size() != spatial + 2) return false;
  if (c.pre.size() != spatial || c.post.size() != spatial || c.dilations.size() != spatial) return false;
  if (c.x[0] != c.y[0] || c.w[0] != c.y[1] || c.w[1] == 0 || c.x[1] % c.w[1] != 0) return false;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t extent = (c.w[i + 2] - 1) * c.dilations[i] + 1;
    if ((c.x[i + 2] + c.pre[i] + c.post[i] - extent) / c.strides[i] + 1 != c.y[i + 2]) return false;
  }
  return true;
}

void run_graph(const Node& graph, const Node& pack) {
  Values values(pack);
  for (const auto& op : graph.links(Attribute::graph_operations))
    if (op->type == static_cast<int>(lanner::cudnn::DescriptorType::operation_pointwise))
      run_pointwise(*op, values);
    else
      run_convolution(*op, values);
}

} // namespace fake
