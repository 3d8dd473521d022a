// Products with bias, sum and activation, by cuBLASLt.

#include <algorithm>
#include <array>

#include "backends/config_text.h"
#include "backends/cuda/bounds.h"
#include "backends/cuda/launch_cache.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/product/product.h"
#include "base/check.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/order.h"
#include "graph/storage/within.h"

namespace lanner::cuda {
namespace {

using cublaslt::AlgorithmAttribute;
using cublaslt::DataType;
using cublaslt::DescriptorAttribute;

constexpr std::size_t max_workspace = std::size_t{32} << 20;

DataType data_type(DType type) {
  if (type == DType::f16) return DataType::float16;
  return type == DType::bf16 ? DataType::bfloat16 : DataType::float32;
}

/// activation(a x b + bias + sum), each optional, over `batch` pairs of matrices.
struct Matmul {
  Product product;
  Operand sum;
  std::uint32_t activation = 0; ///< Bits of the library's epilogue.
  std::int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  std::int64_t a_step = 0, b_step = 0; ///< Elements from one matrix to the next.

  DType type() const { return product.a.dtype(); }
};

/// Elements of all dims but the last two.
std::int64_t matrices(const Shape& shape) {
  return Shape(std::span(shape.dims()).first(shape.rank() - 2)).elements();
}

/// Whether the leading dims of `operand` are the result's own, so that its matrices are evenly spaced.
bool in_step(const Shape& operand, const Shape& result) {
  return matrices(operand) == matrices(result);
}

bool read_batch(Matmul& m) {
  const Shape a = m.product.a.shape(), b = m.product.b.shape(), &result = m.product.result;
  m.columns = m.product.columns();
  m.depth = m.product.depth();
  m.batch = matrices(result);
  m.rows = result[result.rank() - 2];
  if (matrices(b) == 1 && in_step(a, result) && !m.product.transpose_a) {
    m.rows *= m.batch; // One right-hand matrix: all rows form one product.
    m.batch = 1;
    return true;
  }
  if ((!in_step(a, result) && matrices(a) != 1) || (!in_step(b, result) && matrices(b) != 1)) return false;
  m.a_step = matrices(a) == 1 ? 0 : m.rows * m.depth;
  m.b_step = matrices(b) == 1 ? 0 : m.depth * m.columns;
  return true;
}

/// The epilogue as a sum and an activation, in this order.
bool read_epilogue(Matmul& m) {
  for (const EpilogueStep& step : m.product.epilogue) {
    if (m.activation != 0) return false;
    if (step.binary) {
      const bool sum = step.binary == BinaryKind::add && step.spread == Spread::full &&
                       step.operand.is_input() && step.operand.dtype() == m.type() && !m.sum;
      if (!sum) return false;
      m.sum = step.operand;
    } else if (step.activation.is("relu")) {
      m.activation = cublaslt::epilogue_relu;
    } else if (step.activation.is("gelu_by_tanh")) {
      m.activation = cublaslt::epilogue_gelu; // The library's gelu is the tanh approximation.
    } else {
      return false;
    }
  }
  return true;
}

std::optional<Matmul> read_matmul(const Group& group, std::string& reason) {
  auto product = product_of(group, reason);
  if (!product) return std::nullopt;
  Matmul m{std::move(*product), {}, 0, 1, 0, 0, 0, 0, 0};
  const Operand &a = m.product.a, &b = m.product.b, &bias = m.product.bias;
  if (!is_real(m.type()) || b.dtype() != m.type() || (bias && bias.dtype() != m.type())) {
    reason = "cublaslt: supports f32, f16 and bf16";
    return std::nullopt;
  }
  if (!a.is_input() || !b.is_input() || (bias && !bias.is_input())) {
    reason = "cublaslt: the product's operands must be inputs of the group";
    return std::nullopt;
  }
  if (!within_library_bounds(a.shape()) || !within_library_bounds(b.shape()) ||
      !within_library_bounds(m.product.result)) {
    reason = "cublaslt: sizes exceed 32 bits";
    return std::nullopt;
  }
  if (!read_epilogue(m)) {
    reason = "cublaslt: the epilogue is more than a bias, a sum and relu or tanh gelu";
    return std::nullopt;
  }
  if (!read_batch(m)) {
    reason = "cublaslt: operands that are broadcast along only some leading dimensions are not supported";
    return std::nullopt;
  }
  return m;
}

/// Type of all values, and which operands are stored transposed.
struct Variant {
  DType type;
  bool a_exchanged = false, b_exchanged = false;
};

/// Row-major matrices are transposed column-major ones, so the library computes the result's transpose: its A
/// is our b, its B our a.
struct Operation {
  cublaslt::MatrixLayout a, b, c, d; ///< c: the addend, described like d where there is none.
  std::int32_t transpose_a, transpose_b;
  DataType type;
  std::uint32_t epilogue;

  cublaslt::MatmulDescriptor descriptor(const void* bias) const {
    cublaslt::MatmulDescriptor descriptor;
    descriptor.set(DescriptorAttribute::transpose_a, transpose_a);
    descriptor.set(DescriptorAttribute::transpose_b, transpose_b);
    descriptor.set(DescriptorAttribute::epilogue, epilogue);
    if (epilogue & cublaslt::epilogue_bias) {
      descriptor.set(DescriptorAttribute::bias_pointer, bias);
      descriptor.set(DescriptorAttribute::bias_data_type, type);
    }
    return descriptor;
  }
};

/// A matrix of rows x columns, row-major or transposed, as the library sees it; `leading`: elements between
/// rows in memory, 0: dense.
cublaslt::MatrixLayout matrix(DataType type, std::int64_t rows, std::int64_t columns, bool exchanged,
                              std::int64_t leading = 0) {
  if (exchanged) std::swap(rows, columns);
  return cublaslt::MatrixLayout(type, columns, rows, leading > 0 ? leading : columns);
}

/// Row strides of operands that lie within larger values; 0: dense.
struct Leading {
  std::int64_t a = 0, c = 0, d = 0;

  static std::int64_t of(const Storage& storage, const Shape& shape) {
    return storage.within ? memory_strides(storage, shape)[0] : 0;
  }
  static Leading of(const Matmul& m, const Tactic& tactic) {
    Leading leading;
    leading.a = of(tactic.inputs.at(m.product.a.index), m.product.a.shape());
    leading.d = of(tactic.outputs.at(0), m.product.result);
    leading.c = m.sum ? of(tactic.inputs.at(m.sum.index), m.product.result) : leading.d;
    return leading;
  }
};

/// Single matrices only: a single stride describes the rows.
bool takes_strides(const Matmul& m) {
  return m.product.a.shape().rank() == 2 && m.product.result.rank() == 2;
}

Operation operation_of(const Matmul& m, const Variant& variant, const Leading& leading = {}) {
  const DataType type = data_type(variant.type);
  const bool a_flipped = m.product.transpose_a != variant.a_exchanged,
             b_flipped = m.product.transpose_b != variant.b_exchanged;
  std::uint32_t epilogue = m.activation | (m.product.bias ? cublaslt::epilogue_bias : 0);
  if (epilogue == 0) epilogue = cublaslt::epilogue_none;
  Operation operation{matrix(type, m.depth, m.columns, b_flipped),
                      matrix(type, m.rows, m.depth, a_flipped, leading.a),
                      matrix(type, m.rows, m.columns, false, leading.c),
                      matrix(type, m.rows, m.columns, false, leading.d),
                      b_flipped ? cublaslt::operation_transpose : cublaslt::operation_none,
                      a_flipped ? cublaslt::operation_transpose : cublaslt::operation_none,
                      type,
                      epilogue};
  if (m.batch > 1) {
    const auto count = static_cast<std::int32_t>(m.batch);
    operation.a.set_batch(count, m.b_step);
    operation.b.set_batch(count, m.a_step);
    operation.c.set_batch(count, m.rows * m.columns);
    operation.d.set_batch(count, m.rows * m.columns);
  }
  return operation;
}

/// Attributes that, with its id, define an algorithm, and their sizes.
struct AlgorithmField {
  const char* key;
  AlgorithmAttribute attribute;
  std::size_t bytes;
};
constexpr std::array<AlgorithmField, 8> algorithm_fields{{{"tile", AlgorithmAttribute::tile, 4},
                                                          {"split", AlgorithmAttribute::split_k, 4},
                                                          {"scheme", AlgorithmAttribute::reduction_scheme, 4},
                                                          {"swizzle", AlgorithmAttribute::swizzling, 4},
                                                          {"custom", AlgorithmAttribute::custom_option, 4},
                                                          {"stages", AlgorithmAttribute::stages, 4},
                                                          {"inner", AlgorithmAttribute::inner_shape, 2},
                                                          {"cluster", AlgorithmAttribute::cluster_shape, 2}}};
constexpr std::uint32_t scheme_in_place = 1;

/// An older library does not support the later attributes.
std::optional<std::uint32_t> attribute_of(const cublaslt::Algorithm& algorithm, AlgorithmAttribute attribute,
                                          std::size_t bytes) {
  std::uint32_t value = 0; // Little-endian, so 2-byte values are its low half.
  std::size_t written = 0;
  const bool known =
      cublaslt::api().algorithm_get(&algorithm, attribute, &value, bytes, &written) == cublaslt::success;
  return known ? std::optional(value) : std::nullopt;
}

ConfigText config_of(const cublaslt::Algorithm& algorithm) {
  ConfigText config;
  config.set("version", static_cast<std::int64_t>(cublaslt::library_status().version));
  const auto id = attribute_of(algorithm, AlgorithmAttribute::id, 4);
  check(id.has_value(), ErrorCode::device, "cublaslt: an algorithm has no id");
  config.set("id", static_cast<std::int64_t>(*id));
  for (const AlgorithmField& field : algorithm_fields)
    if (const auto value = attribute_of(algorithm, field.attribute, field.bytes))
      config.set(field.key, static_cast<std::int64_t>(*value));
  return config;
}

struct ChosenAlgorithm {
  cublaslt::Algorithm algorithm{};
  std::size_t workspace = 0;
};

/// The algorithm that a configuration names. Throws when the library does not run it here.
ChosenAlgorithm algorithm_of(const ConfigText& config, const Operation& operation, cublaslt::Handle handle) {
  const cublaslt::Api& api = cublaslt::api();
  const DataType type = operation.type;
  ChosenAlgorithm chosen;
  cublaslt::check(api.algorithm_init(handle, cublaslt::compute_f32, DataType::float32, type, type, type, type,
                                     static_cast<int>(config.integer("id")), &chosen.algorithm),
                  "cublasLtMatmulAlgoInit");
  for (const AlgorithmField& field : algorithm_fields) {
    const std::int64_t value = config.integer(field.key, -1);
    if (value < 0) continue;
    const auto bits = static_cast<std::uint32_t>(value);
    cublaslt::check(api.algorithm_set(&chosen.algorithm, field.attribute, &bits, field.bytes),
                    "cublasLtMatmulAlgoConfigSetAttribute");
  }
  const cublaslt::MatmulDescriptor descriptor = operation.descriptor(nullptr);
  cublaslt::HeuristicResult result{};
  cublaslt::check(api.algorithm_check(handle, descriptor.handle(), operation.a.handle(), operation.b.handle(),
                                      operation.c.handle(), operation.d.handle(), &chosen.algorithm, &result),
                  "cublasLtMatmulAlgoCheck");
  chosen.workspace = result.workspace;
  check(chosen.workspace <= max_workspace, ErrorCode::unsupported,
        "cublaslt: the algorithm needs a workspace of {} bytes, expected at most {}", chosen.workspace,
        max_workspace);
  return chosen;
}

std::vector<ConfigText> configs(const Operation& operation, cublaslt::Handle handle, bool deterministic,
                                std::string& reason) {
  constexpr int most = 4;
  const cublaslt::Preference preference(max_workspace, pointer_alignment);
  const cublaslt::MatmulDescriptor descriptor = operation.descriptor(nullptr);
  std::array<cublaslt::HeuristicResult, most> results{};
  int count = 0;
  cublaslt::check(cublaslt::api().heuristics(handle, descriptor.handle(), operation.a.handle(),
                                             operation.b.handle(), operation.c.handle(), operation.d.handle(),
                                             preference.handle(), most, results.data(), &count),
                  "cublasLtMatmulAlgoGetHeuristic");
  std::vector<ConfigText> list;
  for (int i = 0; i < std::min(count, most); ++i) {
    const cublaslt::HeuristicResult& result = results[static_cast<std::size_t>(i)];
    if (result.state != cublaslt::success) continue;
    const auto scheme = attribute_of(result.algorithm, AlgorithmAttribute::reduction_scheme, 4);
    if (deterministic && scheme == scheme_in_place) continue;
    try {
      ConfigText config = config_of(result.algorithm);
      algorithm_of(config, operation, handle);
      list.push_back(std::move(config));
    } catch (const Error& error) {
      reason = error.message();
    }
  }
  return list;
}

/// Possible storages of the operands. Where transposing changes nothing, as for a vector, it is not offered
/// twice.
std::vector<Variant> variants(const Matmul& m, const Target& target) {
  std::vector<Variant> list;
  for (const std::optional<DType> kept : storage_types(m.type(), target))
    for (const bool exchanged : {false, true})
      if (!exchanged || !exchanged_layout(m.product.b.shape()).row_major())
        list.push_back({kept.value_or(m.type()), false, exchanged});
  return list;
}

/// Nothing where one input would need two storages.
std::optional<Tactic> tactic_of(const Matmul& m, const Variant& variant, const Node& node,
                                const Target& target) {
  Storage storage = target.storage();
  if (variant.type != m.type()) storage.dtype = variant.type;
  Storage of_b = storage;
  if (variant.b_exchanged) of_b.layout = exchanged_layout(m.product.b.shape());
  auto inputs = product_storages(m.product, node.inputs().size(), storage, of_b, storage);
  if (!inputs) return std::nullopt;
  Tactic tactic;
  tactic.kernel = "matmul";
  tactic.inputs = std::move(*inputs);
  tactic.outputs = {storage};
  tactic.accumulates = DType::f32;
  if (!takes_strides(m)) return tactic;
  tactic.strided_outputs = {AxisSet::all()};
  tactic.strided_inputs.assign(node.inputs().size(), {});
  tactic.strided_inputs[m.product.a.index] = AxisSet::all();
  if (m.sum && m.sum.shape() == m.product.result) tactic.strided_inputs[m.sum.index] = AxisSet::all();
  return tactic;
}

double rough_seconds(const Matmul& m, const Variant& variant, const Target& target) {
  const bool narrow = variant.type != DType::f32;
  const double elements = static_cast<double>(m.product.a.shape().elements() +
                                              m.product.b.shape().elements() + m.product.result.elements());
  return seconds_of(
      {.operations = m.product.operations(), .bytes = elements * (narrow ? 2 : 4), .halves = narrow}, target);
}

TacticList matmul_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto m = read_matmul(group, list.reason);
  if (!m) return list;
  if (!cublaslt::library_status().api) {
    list.reason =
        fmt::format("cublaslt: {}; {}", cublaslt::library_status().reason, cublaslt::library_status().remedy);
    return list;
  }
  const cublaslt::Handle handle = cublaslt::handle_of(Gpu::get(target.device));
  for (const Variant& variant : variants(*m, target)) {
    try {
      double slower = variant.b_exchanged ? 1.02 : 1;
      for (const ConfigText& config :
           configs(operation_of(*m, variant), handle, target.deterministic, list.reason)) {
        auto tactic = tactic_of(*m, variant, node, target);
        if (!tactic) break;
        tactic->config = config.bytes();
        tactic->estimate = rough_seconds(*m, variant, target) * slower;
        slower += 0.05;
        list.tactics.push_back(std::move(*tactic));
      }
    } catch (const Error& error) {
      list.reason = error.message();
    }
  }
  return list;
}

class MatmulKernel final : public Kernel {
public:
  MatmulKernel(const Gpu& gpu, const Matmul& m, Operation operation, const ChosenAlgorithm& chosen)
      : order_(gpu), a_(m.product.a.index), b_(m.product.b.index), operation_(std::move(operation)),
        chosen_(chosen), handle_(cublaslt::handle_of(gpu)) {
    if (m.product.bias) bias_ = m.product.bias.index;
    if (m.sum) sum_ = m.sum.index;
  }

  std::size_t workspace() const override { return chosen_.workspace; }
  bool on_stream() const override { return true; }

  void launch(const Launch& launch) const override {
    const void* bias = bias_ ? launch.inputs[*bias_] : nullptr;
    auto bound = bound_.take([&](const Bound& kept) { return kept.bias == bias; });
    if (!bound) bound.reset(new Bound{bias, operation_.descriptor(bias)});
    const float one = 1, scale = sum_ ? 1.0F : 0.0F;
    void* result = launch.outputs[0];
    const void* sum = sum_ ? launch.inputs[*sum_] : result;
    for (const void* pointer :
         {launch.inputs[a_], launch.inputs[b_], bias, sum, static_cast<const void*>(result)})
      check_aligned(pointer, "matmul");
    if (!launch.ordered) order_.queue(static_cast<StreamHandle>(launch.stream.handle));
    const cublaslt::Status status = cublaslt::api().matmul(
        handle_, bound->descriptor.handle(), &one, launch.inputs[b_], operation_.a.handle(),
        launch.inputs[a_], operation_.b.handle(), &scale, sum, operation_.c.handle(), result,
        operation_.d.handle(), &chosen_.algorithm, launch.workspace, chosen_.workspace,
        static_cast<StreamHandle>(launch.stream.handle));
    bound_.give(std::move(bound));
    cublaslt::check(status, "cublasLtMatmul");
  }

private:
  /// The library reads the bias address from the descriptor.
  struct Bound {
    const void* bias;
    cublaslt::MatmulDescriptor descriptor;
  };

  StreamOrder order_;
  std::size_t a_, b_;
  std::optional<std::size_t> bias_, sum_;
  Operation operation_;
  ChosenAlgorithm chosen_;
  cublaslt::Handle handle_;
  mutable LaunchCache<Bound> bound_;
};

std::unique_ptr<Kernel> matmul_prepare(const Preparation& p) {
  std::string reason;
  const auto m = read_matmul(p.group, reason);
  check(m.has_value(), ErrorCode::internal, "cuda: matmul: {}", reason);
  static_cast<void>(cublaslt::api());
  const auto version = static_cast<std::int64_t>(cublaslt::library_status().version);
  const ConfigText config(p.tactic.config);
  check(config.integer("version") == version, ErrorCode::bad_data,
        "cublaslt: the plan is for version {}, this is {}: build the plan again", config.integer("version"),
        version);
  const Variant variant{p.tactic.outputs.at(0).dtype.value_or(m->type()),
                        !p.tactic.inputs.at(m->product.a.index).layout.row_major(),
                        !p.tactic.inputs.at(m->product.b.index).layout.row_major()};
  const Gpu& gpu = Gpu::get(p.target.device);
  Operation operation = operation_of(*m, variant, Leading::of(*m, p.tactic));
  const ChosenAlgorithm chosen = algorithm_of(config, operation, cublaslt::handle_of(gpu));
  return std::make_unique<MatmulKernel>(gpu, *m, std::move(operation), chosen);
}

/// The library's gelu is accurate for FP16, not for f32 (13.1: 1e-6 of the largest value).
bool matmul_fuses(const Group& group, const Target& target) {
  std::string reason;
  const auto m = read_matmul(group, reason);
  if (!m || !cublaslt::library_status().api) return false;
  return m->activation != cublaslt::epilogue_gelu ||
         (!is_true_f32(m->type(), target) && !target.precision.exact);
}

} // namespace

extern const KernelFamily matmul_family{"matmul", KernelTrust::swept({"cublaslt 1301"}), matmul_tactics,
                                        matmul_prepare, matmul_fuses};

} // namespace lanner::cuda
