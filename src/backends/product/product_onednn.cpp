// Products by oneDNN: `inner_product` with weights in its own packed layout, `matmul` for all others.

#include <numeric>

#include "backends/estimate.h"
#include "backends/onednn/families.h"
#include "backends/onednn/implementations.h"
#include "backends/onednn/nan_guard.h"
#include "backends/onednn/post_ops.h"
#include "backends/product/pieces_onednn.h"
#include "backends/product/product.h"
#include "backends/storage_layout.h"
#include "base/check.h"

namespace lanner::onednn {

namespace {

/// A product whose matrices, result and full-size operands, f32 all, are stored in a type: f32 or bf16.
struct StoredProduct : Product {
  DType type = DType::f32;

  std::size_t element() const { return bit_width(type) / 8; }
};

std::optional<StoredProduct> read_product(const Group& group, DType type, std::string& reason) {
  auto product = product_of(group, reason);
  if (!product) return std::nullopt;
  const bool reals = product->a.dtype() == DType::f32 && product->b.dtype() == DType::f32 &&
                     (!product->bias || product->bias.dtype() == DType::f32);
  const bool full = product->a.shape().elements() > 0 && product->b.shape().elements() > 0 &&
                    product->result.elements() > 0;
  if (reals && full && product->result.rank() <= 6) return StoredProduct{std::move(*product), type};
  reason = "supports non-empty f32 of rank 2 to 6";
  return std::nullopt;
}

struct Candidate {
  Descriptor descriptor;
  std::vector<Argument> arguments;
};

/// Swaps the last two axes of a matrix's layout.
Layout swapped(Layout layout) {
  if (layout.order.empty()) layout.order = {0, 1};
  for (std::uint8_t& dim : layout.order) dim = 1 - dim;
  for (Layout::Block& block : layout.blocks) block.dim = 1 - block.dim;
  return layout;
}

/// One product, or one piece of it: so many rows of the result.
Candidate make_inner(const StoredProduct& product, std::int64_t rows, const std::optional<Desc>& weights) {
  Candidate candidate;
  const Shape flat{rows, product.columns()};
  auto post = post_ops(product.epilogue, Residual::read, flat, {}, 1, product.type);
  if (!post) return candidate;
  const auto src = describe(Shape{rows, product.depth()}, {}, product.type),
             dst = describe(flat, {}, product.type);
  const auto bias = describe(Shape{product.columns()}, {}, DType::f32);
  if (!src || !dst || !bias || !weights) return candidate;
  candidate.descriptor =
      inner_product(*src, *weights, product.bias ? &*bias : nullptr, *dst, attributes(post->ops));
  candidate.arguments = std::move(post->arguments);
  candidate.arguments.push_back(argument(DNNL_ARG_SRC, *src, product.a));
  if (product.bias) candidate.arguments.push_back(argument(DNNL_ARG_BIAS, *bias, product.bias));
  candidate.arguments.push_back(output_argument(DNNL_ARG_DST, *dst));
  return candidate;
}

/// oneDNN's inner product takes weights as columns x depth and packs them as it chooses.
std::optional<Desc> any_weights(const StoredProduct& product) {
  return describe_any({product.columns(), product.depth()}, product.type);
}

std::optional<Layout> inner_weights(const StoredProduct& product, const Implementation& implementation) {
  const auto own = layout_of(implementation.descriptor.weights_desc());
  if (!own) return std::nullopt;
  return canonical(product.transpose_b ? *own : swapped(*own), product.b.shape());
}

double bytes_of(const StoredProduct& product) {
  return static_cast<double>(product.element()) *
         (static_cast<double>(product.b.shape().elements()) + static_cast<double>(product.result.elements()));
}

/// Byte strides between the units of a divided product. Nothing where an operand has no such stride.
std::optional<UnitBytes> unit_bytes(const StoredProduct& product, std::int64_t of_a, std::int64_t of_b,
                                    std::int64_t of_result) {
  UnitBytes bytes;
  const auto size = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * product.element();
  };
  bytes.output = size(of_result);
  bool fits = bytes.add(product.a, size(of_a)) && bytes.add(product.b, size(of_b));
  if (product.bias) fits = fits && bytes.add(product.bias, 0);
  for (const EpilogueStep& step : product.epilogue)
    if (step.binary) fits = fits && bytes.add(step.operand, step.spread == Spread::full ? bytes.output : 0);
  return fits ? std::optional(std::move(bytes)) : std::nullopt;
}

std::optional<UnitBytes> row_bytes(const StoredProduct& product) {
  return unit_bytes(product, product.depth(), 0, product.columns());
}

/// Tactics of one product; a cut of size 0 means undivided.
class ProductTactics {
public:
  ProductTactics(std::string_view kernel, const Node& node, const StoredProduct& product,
                 const Target& target)
      : kernel_(kernel), node_(node), product_(product), target_(target) {}

  void add(const Implementation& implementation, const Layout& a, const Layout& b, const Cut& cut,
           double slowness) {
    auto storages = storages_of(a, b);
    if (!storages) return;
    ConfigText config;
    name_implementation(config, implementation);
    if (cut.size != 0) config.set("piece", cut.size);
    Tactic tactic;
    tactic.kernel = kernel_;
    tactic.config = config.bytes();
    tactic.inputs = std::move(*storages);
    tactic.outputs.assign(node_.outputs().size(), stored_real({}, product_.type));
    const int threads = cut.size == cut.units && cut.size != 0 ? 1 : target_.threads;
    tactic.estimate = seconds_of({.operations = product_.operations() / speedup_of(product_.type),
                                  .bytes = bytes_of(product_),
                                  .threads = threads},
                                 target_) *
                      slowness;
    tactic.accumulates = DType::f32;
    list.tactics.push_back(std::move(tactic));
  }

  TacticList list;

private:
  /// Bias and operands that are not as large as the result stay f32.
  std::optional<std::vector<Storage>> storages_of(const Layout& a, const Layout& b) const {
    OperandStorages storages(node_.inputs().size());
    storages.ask(product_.a, stored_real(a, product_.type));
    storages.ask(product_.b, stored_real(b, product_.type));
    storages.ask(product_.bias, {});
    for (const EpilogueStep& step : product_.epilogue)
      storages.ask(step.operand, stored_real({}, step.spread == Spread::full ? product_.type : DType::f32));
    if (!storages.agree()) return std::nullopt;
    return storages.take();
  }

  std::string_view kernel_;
  const Node& node_;
  const StoredProduct& product_;
  const Target& target_;
};

bool offers(const std::function<Descriptor()>& make, const Implementation& implementation) {
  Descriptor descriptor = make();
  if (!descriptor) return false;
  do {
    if (implementation.name == descriptor.impl_info_str()) return true;
  } while (descriptor.next_impl());
  return false;
}

// Each piece of rows reads the whole second matrix: with fewer rows it would be memory-bound. Timing, which
// finds the matrix in the cache, does not show that.
constexpr std::int64_t rows_of_a_piece = 48;
constexpr double cached_bytes = 64 << 10;

/// Whether dividing makes sense: into at least two pieces, or into pieces that fit a thread's cache.
bool is_worth(const Cut& cut, const StoredProduct& product) {
  return cut.count() > 1 || bytes_of(product) <= cached_bytes;
}

template<DType type>
TacticList inner_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (type == DType::bf16 && !takes_bf16(target)) return list;
  const auto product = read_product(group, type, list.reason);
  if (!product || !product->single() || product->transpose_a || !product->b.is_input()) return list;
  ProductTactics found(type == DType::bf16 ? "inner_product_bf16" : "inner_product", node, *product, target);
  double slowness = 1;
  const auto add = [&](const Cut& cut, int threads) {
    const ThreadCount count(threads);
    const std::int64_t rows = cut.size != 0 ? cut.size : product->rows();
    for (const Implementation& one :
         implementations(make_inner(*product, rows, any_weights(*product)).descriptor, 2)) {
      const auto last = [&] {
        return make_inner(*product, cut.last(), one.descriptor.weights_desc()).descriptor;
      };
      const auto weights = inner_weights(*product, one);
      if (!weights || (cut.size != 0 && cut.last() != cut.size && !offers(last, one))) continue;
      found.add(one, {}, *weights, cut, slowness);
      slowness += 0.1;
    }
  };
  add({}, target.threads);
  const Cut cut = cut_for(target.threads, product->rows(), rows_of_a_piece);
  if (target.threads > 1 && row_bytes(*product) && is_worth(cut, *product)) add(cut, 1);
  return std::move(found.list);
}

/// `make` creates the product with an epilogue, by the same implementation where possible. `result` and
/// `channel_axis` are those of the product, or of a piece.
std::unique_ptr<Kernel> keeping_nan(std::unique_ptr<Execution> fast, const Epilogue& epilogue, DType type,
                                    const Shape& result, const std::string& implementation, int threads,
                                    const std::function<Candidate(const Epilogue&)>& make) {
  if (!hides_nan(epilogue)) return fast;
  Candidate plain = make(before_hiding(epilogue));
  check(static_cast<bool>(plain.descriptor), ErrorCode::unsupported,
        "onednn: the product is not available without its activation");
  const Descriptor first = at_this_implementation(plain.descriptor);
  Descriptor& found = plain.descriptor;
  while (found.impl_info_str() != implementation && found.next_impl()) continue;
  const Descriptor& taken = found.impl_info_str() == implementation ? found : first;
  return guarded(std::move(fast), anchor_and_steps({taken, std::move(plain.arguments), threads}, epilogue,
                                                   result, {}, result.rank() - 1, type));
}

/// `weights` becomes the layout that the implementation needs.
std::unique_ptr<Kernel> prepare_inner(const StoredProduct& product, std::int64_t rows,
                                      std::optional<Desc>& weights, const Preparation& p, int threads) {
  const ThreadCount count(threads);
  const auto make = [&] { return make_inner(product, rows, weights).descriptor; };
  const Implementation chosen = find_implementation(make, ConfigText(p.tactic.config));
  const auto layout = inner_weights(product, chosen);
  check(layout && *layout == p.tactic.inputs.at(product.b.index).layout, ErrorCode::unsupported,
        "onednn: {} needs another weight layout: build the plan again", chosen.name);
  weights = chosen.descriptor.weights_desc();
  const auto candidate_with = [&](const Epilogue& epilogue) {
    StoredProduct part = product;
    part.epilogue = epilogue;
    Candidate candidate = make_inner(part, rows, weights);
    candidate.arguments.push_back(argument(DNNL_ARG_WEIGHTS, *weights, product.b));
    return candidate;
  };
  auto fast =
      std::make_unique<Execution>(chosen.descriptor, candidate_with(product.epilogue).arguments, threads);
  return keeping_nan(std::move(fast), product.epilogue, product.type, Shape{rows, product.columns()},
                     chosen.name, threads, candidate_with);
}

/// How the configuration says that a product is divided; size 0 where it is not. Throws Error{bad_data}.
Cut cut_of(const Tactic& tactic, std::int64_t units) {
  const ConfigText config(tactic.config);
  const Cut cut{units, config.integer("piece", 0)};
  check(cut.size >= 0 && cut.size <= units, ErrorCode::bad_data,
        "onednn: invalid piece size {} for {} units: build the plan again", cut.size, units);
  return cut;
}

/// A product in pieces: `make` prepares a primitive for so many units.
std::unique_ptr<Kernel> in_pieces(const Cut& cut, const std::optional<UnitBytes>& bytes, int threads,
                                  const std::function<std::unique_ptr<Kernel>(std::int64_t)>& make) {
  check(bytes.has_value(), ErrorCode::bad_data,
        "onednn: this product cannot be divided into pieces: build the plan again");
  auto body = make(cut.size);
  auto last = cut.last() == cut.size ? nullptr : make(cut.last());
  return std::make_unique<PieceKernel>(cut, *bytes, std::move(body), std::move(last), threads);
}

template<DType type>
std::unique_ptr<Kernel> inner_prepare(const Preparation& p) {
  std::string reason;
  const auto product = read_product(p.group, type, reason);
  check(product.has_value(), ErrorCode::internal, "onednn: product: {}", reason);
  const Cut cut = cut_of(p.tactic, product->rows());
  std::optional<Desc> weights = any_weights(*product);
  if (cut.size == 0) return prepare_inner(*product, product->rows(), weights, p, p.target.threads);
  return in_pieces(cut, row_bytes(*product), p.target.threads,
                   [&](std::int64_t rows) { return prepare_inner(*product, rows, weights, p, 1); });
}

/// A matrix operand of `shape` in the result's rank: missing batch dims become 1, a transposed one gets its
/// axes swapped.
std::optional<Desc> matrix_desc(const Shape& shape, const Layout& layout, DType type, bool transposed,
                                std::size_t rank) {
  auto desc = describe(shape, layout, type);
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

/// Dims of the operands and the result, whole or of a piece, and the matrices' layouts.
struct Matrices {
  Shape a, b, result;
  Layout a_layout, b_layout;
};

Candidate make_matmul(const StoredProduct& product, const Matrices& m) {
  Candidate candidate;
  const std::size_t rank = m.result.rank();
  const auto src = matrix_desc(m.a, m.a_layout, product.type, product.transpose_a, rank);
  const auto weights = matrix_desc(m.b, m.b_layout, product.type, product.transpose_b, rank);
  const auto dst = describe(m.result, {}, product.type);
  Shape bias_shape(std::vector<std::int64_t>(rank, 1));
  bias_shape[rank - 1] = product.columns();
  const auto bias = describe(bias_shape, {}, DType::f32);
  auto post = post_ops(product.epilogue, Residual::read, m.result, {}, rank - 1, product.type);
  if (!src || !weights || !dst || !bias || !post || !*src || !*weights) return candidate;
  candidate.descriptor = matmul(*src, *weights, product.bias ? &*bias : nullptr, *dst, attributes(post->ops));
  candidate.arguments = std::move(post->arguments);
  candidate.arguments.push_back(argument(DNNL_ARG_SRC, *src, product.a));
  candidate.arguments.push_back(argument(DNNL_ARG_WEIGHTS, *weights, product.b));
  if (product.bias) candidate.arguments.push_back(argument(DNNL_ARG_BIAS, *bias, product.bias));
  candidate.arguments.push_back(output_argument(DNNL_ARG_DST, *dst));
  return candidate;
}

std::vector<Layout> matrix_layouts(const Shape& shape) {
  Layout exchanged = exchanged_layout(shape);
  if (exchanged.row_major()) return {exchanged};
  return {Layout{}, exchanged};
}

/// How a product can be divided: along its rows where one matrix serves all of them, else along the list of
/// pairs of matrices.
class MatmulCut {
public:
  explicit MatmulCut(const StoredProduct& product) : product_(product) {
    const Shape a = product.a.shape(), b = product.b.shape(), &result = product.result;
    if (product.single() && !product.transpose_a) {
      by_rows_ = true;
      units_ = product.rows();
      bytes_ = row_bytes(product);
    } else if (result.rank() > 2 && leading(a) == leading(result) && leading(b) == leading(result)) {
      units_ = leading(result).elements();
      const auto elements = [&](const Shape& shape) { return shape.elements() / units_; };
      bytes_ = unit_bytes(product, elements(a), elements(b), elements(result));
    }
  }

  /// Whether matrices in these layouts can be divided.
  bool fits(const Layout& a) const { return bytes_.has_value() && (!by_rows_ || a.row_major()); }
  const std::optional<UnitBytes>& bytes() const { return bytes_; }
  std::int64_t units() const { return units_; }
  std::int64_t least() const { return by_rows_ ? rows_of_a_piece : 1; }

  /// The dims for so many units, where the whole operands have these layouts.
  Matrices piece(std::int64_t units, const Layout& a, const Layout& b) const {
    const Shape whole_a = product_.a.shape(), whole_b = product_.b.shape();
    if (by_rows_) return {Shape{units, product_.depth()}, whole_b, Shape{units, product_.columns()}, {}, b};
    const auto cut = [&](const Shape& whole) { return Shape{units, whole[whole.rank() - 2], whole.back()}; };
    const auto lies = [](const Layout& layout, const Shape& shape) {
      return layout.row_major() ? Layout{} : exchanged_layout(shape);
    };
    const Shape of_a = cut(whole_a), of_b = cut(whole_b);
    return {of_a, of_b, cut(product_.result), lies(a, of_a), lies(b, of_b)};
  }

private:
  static Shape leading(const Shape& shape) { return Shape(std::span(shape.dims()).first(shape.rank() - 2)); }

  const StoredProduct& product_;
  bool by_rows_ = false;
  std::int64_t units_ = 1;
  std::optional<UnitBytes> bytes_;
};

template<DType type>
TacticList matmul_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (type == DType::bf16 && !takes_bf16(target)) return list;
  const auto product = read_product(group, type, list.reason);
  if (!product || product->a.is_op() || product->b.is_op()) return list;
  ProductTactics found(type == DType::bf16 ? "matmul_bf16" : "matmul", node, *product, target);
  const MatmulCut cuts(*product);
  const Cut cut = cut_for(target.threads, cuts.units(), cuts.least());
  double slowness = 1.2;
  const auto add = [&](const Layout& a, const Layout& b) {
    const ThreadCount count(target.threads);
    const Matrices whole{product->a.shape(), product->b.shape(), product->result, a, b};
    for (const Implementation& one : implementations(make_matmul(*product, whole).descriptor, 2)) {
      found.add(one, a, b, {}, slowness);
      slowness += 0.05;
    }
  };
  const auto add_pieces = [&](const Layout& a, const Layout& b) {
    const ThreadCount count(1);
    const auto make = [&](std::int64_t units) {
      return make_matmul(*product, cuts.piece(units, a, b)).descriptor;
    };
    for (const Implementation& one : implementations(make(cut.size), 2)) {
      if (cut.last() != cut.size && !offers([&] { return make(cut.last()); }, one)) continue;
      found.add(one, a, b, cut, slowness);
      slowness += 0.05;
    }
  };
  for (const Layout& a : matrix_layouts(product->a.shape()))
    for (const Layout& b : matrix_layouts(product->b.shape())) {
      if ((!product->a.is_input() && !a.row_major()) || (!product->b.is_input() && !b.row_major())) continue;
      add(a, b);
      if (target.threads > 1 && cuts.fits(a) && is_worth(cut, *product)) add_pieces(a, b);
    }
  return std::move(found.list);
}

std::unique_ptr<Kernel> prepare_matmul(const StoredProduct& product, const Matrices& matrices,
                                       const Tactic& tactic, int threads) {
  const ThreadCount count(threads);
  const auto make = [&] { return make_matmul(product, matrices); };
  const Implementation chosen =
      find_implementation([&] { return make().descriptor; }, ConfigText(tactic.config));
  auto fast = std::make_unique<Execution>(chosen.descriptor, make().arguments, threads);
  return keeping_nan(std::move(fast), product.epilogue, product.type, matrices.result, chosen.name, threads,
                     [&](const Epilogue& epilogue) {
                       StoredProduct part = product;
                       part.epilogue = epilogue;
                       return make_matmul(part, matrices);
                     });
}

template<DType type>
std::unique_ptr<Kernel> matmul_prepare(const Preparation& p) {
  std::string reason;
  const auto product = read_product(p.group, type, reason);
  check(product.has_value(), ErrorCode::internal, "onednn: product: {}", reason);
  const auto layout = [&](const Operand& operand) {
    return operand.is_input() ? p.tactic.inputs.at(operand.index).layout : Layout{};
  };
  const Layout a = layout(product->a), b = layout(product->b);
  const MatmulCut cuts(*product);
  const Cut cut = cut_of(p.tactic, cuts.units());
  if (cut.size == 0)
    return prepare_matmul(*product, {product->a.shape(), product->b.shape(), product->result, a, b}, p.tactic,
                          p.target.threads);
  check(cuts.fits(a), ErrorCode::bad_data,
        "onednn: this product cannot be divided into pieces: build the plan again");
  return in_pieces(cut, cuts.bytes(), p.target.threads, [&](std::int64_t units) {
    return prepare_matmul(*product, cuts.piece(units, a, b), p.tactic, 1);
  });
}

bool product_fuses(const Group& group, const Target&) {
  std::string reason;
  const auto product = read_product(group, DType::f32, reason);
  return product &&
         post_ops(product->epilogue, Residual::read, product->result, {}, product->result.rank() - 1)
             .has_value();
}

} // namespace

extern const KernelFamily inner_product_family{"inner_product", swept_versions, inner_tactics<DType::f32>,
                                               inner_prepare<DType::f32>, product_fuses};
extern const KernelFamily matmul_family{"matmul", swept_versions, matmul_tactics<DType::f32>,
                                        matmul_prepare<DType::f32>, product_fuses};
extern const KernelFamily inner_product_bf16_family{"inner_product_bf16", KernelTrust::none(),
                                                    inner_tactics<DType::bf16>, inner_prepare<DType::bf16>};
extern const KernelFamily matmul_bf16_family{"matmul_bf16", KernelTrust::none(), matmul_tactics<DType::bf16>,
                                             matmul_prepare<DType::bf16>};

} // namespace lanner::onednn
