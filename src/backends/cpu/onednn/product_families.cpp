// Products by oneDNN: `inner_product` with weights packed as it likes, `matmul` for all others.

#include <numeric>

#include "backends/cpu/onednn/families.h"
#include "backends/cpu/onednn/implementations.h"
#include "backends/cpu/onednn/post_ops.h"
#include "backends/product.h"
#include "backends/storage_layout.h"

namespace lanner::onednn {

namespace {

std::optional<Product> read_product(const Group& group, std::string& reason) {
  auto product = product_of(group, reason);
  if (!product) return product;
  const bool reals = product->a.dtype() == DType::f32 && product->b.dtype() == DType::f32 &&
                     (!product->bias || product->bias.dtype() == DType::f32);
  if (reals && product->result.rank() <= 6) return product;
  reason = "onednn: products take f32 of rank 2 to 6";
  return std::nullopt;
}

struct Candidate {
  Descriptor descriptor;
  std::vector<Argument> arguments;
};

/// Swaps the letters of a matrix's layout.
Layout swapped(Layout layout) {
  if (layout.order.empty()) layout.order = {0, 1};
  for (std::uint8_t& dim : layout.order) dim = 1 - dim;
  for (Layout::Block& block : layout.blocks) block.dim = 1 - block.dim;
  return layout;
}

/// Weights are columns x depth to oneDNN's inner product.
Candidate make_inner(const Product& product) {
  Candidate candidate;
  const Shape flat{product.rows(), product.columns()};
  auto post = post_ops(product.tail, Residual::read, flat, {}, 1);
  if (!post) return candidate;
  const auto src = describe(Shape{product.rows(), product.depth()}, {}, DType::f32),
             dst = describe(flat, {}, DType::f32);
  const auto bias = describe(Shape{product.columns()}, {}, DType::f32);
  const Desc weights = describe_any({product.columns(), product.depth()}, DType::f32);
  candidate.descriptor =
      inner_product(*src, weights, product.bias ? &*bias : nullptr, *dst, attributes(post->ops));
  candidate.arguments = std::move(post->arguments);
  candidate.arguments.push_back(argument(DNNL_ARG_SRC, *src, product.a));
  if (product.bias) candidate.arguments.push_back(argument(DNNL_ARG_BIAS, *bias, product.bias));
  candidate.arguments.push_back(output_argument(DNNL_ARG_DST, *dst));
  return candidate;
}

std::optional<Layout> inner_weights(const Product& product, const Implementation& implementation) {
  const auto own = layout_of(implementation.descriptor.weights_desc());
  if (!own) return std::nullopt;
  return canonical(product.transpose_b ? *own : swapped(*own), product.b.shape());
}

TacticList inner_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto product = read_product(group, list.reason);
  if (!product || !product->single() || product->transpose_a || !product->b.is_input()) return list;
  const ThreadCount count(target.threads);
  const double bytes = 4.0 * static_cast<double>(product->b.shape().elements() + product->result.elements());
  double slower = 1;
  for (const Implementation& implementation : implementations(make_inner(*product).descriptor, 2)) {
    const auto weights = inner_weights(*product, implementation);
    if (!weights) continue;
    Tactic tactic;
    tactic.kernel = "inner_product";
    ConfigText config;
    name_implementation(config, implementation);
    tactic.config = config.bytes();
    auto storages = product_storages(*product, node.inputs().size(), {}, stored(*weights));
    if (!storages) continue;
    tactic.inputs = std::move(*storages);
    tactic.outputs.resize(node.outputs().size());
    tactic.estimate = rough_seconds(product->operations(), bytes, target.threads) * slower;
    slower += 0.1;
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> inner_prepare(const Preparation& p) {
  std::string reason;
  const auto product = read_product(p.group, reason);
  check(product.has_value(), ErrorCode::internal, "onednn: product: {}", reason);
  const ThreadCount count(p.target.threads);
  const auto make = [&] { return make_inner(*product).descriptor; };
  const Implementation chosen = find_implementation(make, ConfigText(p.tactic.config));
  const auto weights = inner_weights(*product, chosen);
  check(weights && *weights == p.tactic.inputs.at(product->b.index).layout, ErrorCode::unsupported,
        "onednn: {} wants its weights otherwise: build the plan again", chosen.name);
  std::vector<Argument> arguments = make_inner(*product).arguments;
  arguments.push_back(argument(DNNL_ARG_WEIGHTS, chosen.descriptor.weights_desc(), product->b));
  return std::make_unique<Execution>(chosen.descriptor, std::move(arguments), p.target.threads);
}

/// A matrix operand over the result's rank: missing batch dims become 1, a transposed one gets its axes
/// exchanged.
std::optional<Desc> matrix_desc(const Operand& operand, const Layout& layout, bool transposed,
                                std::size_t rank) {
  const Shape shape = operand.shape();
  auto desc = describe(shape, layout, DType::f32);
  if (!desc) return std::nullopt;
  if (transposed) {
    std::vector<int> axes(shape.rank());
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    desc = desc->permute_axes(axes);
  }
  if (shape.rank() == rank) return desc;
  Dims dims(rank - shape.rank(), 1);
  const Dims own = transposed ? Dims{shape[1], shape[0]} : Dims(shape.begin(), shape.end());
  dims.insert(dims.end(), own.begin(), own.end());
  return desc->reshape(dims, true);
}

Candidate make_matmul(const Product& product, const Layout& a, const Layout& b) {
  Candidate candidate;
  const std::size_t rank = product.result.rank();
  const auto src = matrix_desc(product.a, a, product.transpose_a, rank);
  const auto weights = matrix_desc(product.b, b, product.transpose_b, rank);
  const auto dst = describe(product.result, {}, DType::f32);
  Shape bias_shape(std::vector<std::int64_t>(rank, 1));
  bias_shape[rank - 1] = product.columns();
  const auto bias = describe(bias_shape, {}, DType::f32);
  auto post = post_ops(product.tail, Residual::read, product.result, {}, rank - 1);
  if (!src || !weights || !dst || !post || !*src || !*weights) return candidate;
  candidate.descriptor = matmul(*src, *weights, product.bias ? &*bias : nullptr, *dst, attributes(post->ops));
  candidate.arguments = std::move(post->arguments);
  candidate.arguments.push_back(argument(DNNL_ARG_SRC, *src, product.a));
  candidate.arguments.push_back(argument(DNNL_ARG_WEIGHTS, *weights, product.b));
  if (product.bias) candidate.arguments.push_back(argument(DNNL_ARG_BIAS, *bias, product.bias));
  candidate.arguments.push_back(output_argument(DNNL_ARG_DST, *dst));
  return candidate;
}

/// Row-major, and the last two axes exchanged, which is how a transposed operand lies.
std::vector<Layout> matrix_layouts(const Shape& shape) {
  Layout exchanged;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    exchanged.order.push_back(static_cast<std::uint8_t>(axis));
  std::swap(exchanged.order[shape.rank() - 1], exchanged.order[shape.rank() - 2]);
  exchanged = canonical(exchanged, shape);
  if (exchanged.row_major()) return {exchanged};
  return {Layout{}, exchanged};
}

TacticList matmul_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto product = read_product(group, list.reason);
  if (!product || product->a.is_op() || product->b.is_op()) return list;
  const ThreadCount count(target.threads);
  const double bytes = 4.0 * static_cast<double>(product->b.shape().elements() + product->result.elements());
  double slower = 1.2;
  for (const Layout& a : matrix_layouts(product->a.shape()))
    for (const Layout& b : matrix_layouts(product->b.shape()))
      for (const Implementation& implementation :
           implementations(make_matmul(*product, a, b).descriptor, 2)) {
        if ((!product->a.is_input() && !a.row_major()) || (!product->b.is_input() && !b.row_major()))
          continue;
        auto storages = product_storages(*product, node.inputs().size(), stored(a), stored(b));
        if (!storages) continue;
        Tactic tactic;
        tactic.kernel = "matmul";
        ConfigText config;
        name_implementation(config, implementation);
        tactic.config = config.bytes();
        tactic.inputs = std::move(*storages);
        tactic.outputs.resize(node.outputs().size());
        tactic.estimate = rough_seconds(product->operations(), bytes, target.threads) * slower;
        slower += 0.05;
        list.tactics.push_back(std::move(tactic));
      }
  return list;
}

std::unique_ptr<Kernel> matmul_prepare(const Preparation& p) {
  std::string reason;
  const auto product = read_product(p.group, reason);
  check(product.has_value(), ErrorCode::internal, "onednn: product: {}", reason);
  const ThreadCount count(p.target.threads);
  const auto layout = [&](const Operand& operand) {
    return operand.is_input() ? p.tactic.inputs.at(operand.index).layout : Layout{};
  };
  const auto make = [&] { return make_matmul(*product, layout(product->a), layout(product->b)); };
  const Implementation chosen =
      find_implementation([&] { return make().descriptor; }, ConfigText(p.tactic.config));
  return std::make_unique<Execution>(chosen.descriptor, make().arguments, p.target.threads);
}

bool product_fuses(const Group& group, const Target&) {
  std::string reason;
  const auto product = read_product(group, reason);
  return product &&
         post_ops(product->tail, Residual::read, product->result, {}, product->result.rank() - 1).has_value();
}

} // namespace

const KernelFamily inner_product_family{"inner_product", inner_tactics, inner_prepare, product_fuses};
const KernelFamily matmul_family{"matmul", matmul_tactics, matmul_prepare, product_fuses};

} // namespace lanner::onednn
