#include "backends/onednn/library.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include <dnnl_debug.h>

#include <lanner/error.h>

#include "backends/cpu/stored_types.h"
#include "base/check.h"

namespace lanner::onednn {

namespace {

using Algorithm = dnnl::algorithm;
using Tag = dnnl::memory::format_tag;

constexpr bool third = DNNL_VERSION_MAJOR >= 3;

/// oneDNN's own names for blocked layouts, equal to those of Layout::to_string.
const std::map<std::string, Tag>& blocked_tags() {
  static const std::map<std::string, Tag> tags = [] {
    std::map<std::string, Tag> result;
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
      const char* name = dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag));
      result.emplace(name, static_cast<Tag>(tag));
    }
    return result;
  }();
  return tags;
}

/// Out of memory is rethrown; any other refusal means "not supported".
void rethrow_if_memory_ran_out(const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
}

/// A descriptor's blocking, in a form common to both versions.
struct Blocking {
  Dims dims, padded, strides;
  std::vector<Layout::Block> blocks;
};

#if DNNL_VERSION_MAJOR >= 3
std::optional<Blocking> blocking_of(const Desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  Blocking result{desc.get_dims(), desc.get_padded_dims(), desc.get_strides(), {}};
  const Dims sizes = desc.get_inner_blks(), dims = desc.get_inner_idxs();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    result.blocks.push_back({static_cast<std::uint8_t>(dims[i]), static_cast<std::uint16_t>(sizes[i])});
  return result;
}
#else
std::optional<Blocking> blocking_of(const Desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.extra.flags != dnnl_memory_extra_flag_none ||
      data.offset0 != 0)
    return std::nullopt;
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  const auto list = [&](const dnnl_dim_t* values) { return Dims(values, values + data.ndims); };
  Blocking result{list(data.dims), list(data.padded_dims), list(blocking.strides), {}};
  for (int i = 0; i < blocking.inner_nblks; ++i)
    result.blocks.push_back({static_cast<std::uint8_t>(blocking.inner_idxs[i]),
                             static_cast<std::uint16_t>(blocking.inner_blks[i])});
  return result;
}
#endif

/// Calls `make` with the arguments in the version's form: 2.6 wants an operation descriptor in between, 3.x
/// the engine.
template<typename Primitive, typename... Args>
Descriptor make_any(const dnnl::primitive_attr& attr, Args&&... args) {
  try {
#if DNNL_VERSION_MAJOR >= 3
    return Descriptor(typename Primitive::primitive_desc(engine(), std::forward<Args>(args)..., attr, true));
#else
    auto operation = std::make_shared<const typename Primitive::desc>(std::forward<Args>(args)...);
    return Descriptor(typename Primitive::primitive_desc(*operation, attr, engine(), true), operation);
#endif
  } catch (const dnnl::error& error) {
    rethrow_if_memory_ran_out(error);
    return {};
  }
}

template<typename Primitive, typename... Args>
Descriptor make(const dnnl::primitive_attr& attr, Args&&... args) {
  return make_any<Primitive>(attr, dnnl::prop_kind::forward_inference, std::forward<Args>(args)...);
}

// See Note [Limits of oneDNN].
constexpr std::int64_t largest_size = 1 << 30;
constexpr std::int64_t largest_image = INT32_MAX - (1 << 16); // leaves room for blocks and tails
constexpr std::int64_t largest_kernel = 4096;                 // code is generated for each tap of an axis
/// Limit on windows that begin entirely in the padding; networks do so by a step or two.
constexpr std::int64_t most_idle_padding = 64;

bool within_bounds(const Dims& dims) {
  std::int64_t image = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0 || dims[d] > largest_size) return false;
    if (d < 2) continue;
    if (dims[d] != 0 && image > largest_image / dims[d]) return false;
    image *= dims[d];
  }
  return dims.size() <= DNNL_MAX_NDIMS;
}

bool within_bounds(const Window& w) {
  std::int64_t taps = 1;
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    const std::int64_t kernel = w.kernel[d], dilation = w.dilations[d];
    if (kernel < 1 || dilation < 1 || w.strides[d] < 1 || kernel > largest_kernel ||
        dilation > largest_size || w.strides[d] > largest_size || taps > largest_size / kernel)
      return false;
    taps *= kernel;
    const std::int64_t extent = (kernel - 1) * dilation + 1;
    if (extent > largest_size) return false;
    for (const std::int64_t pad : {w.begin[d], w.end[d]})
      if (pad < -largest_size || pad >= extent + most_idle_padding) return false;
  }
  return true;
}

Dims less_one(Dims dims) {
  for (auto& size : dims) --size;
  return dims;
}

template<typename Primitive>
Descriptor windowed(Algorithm algorithm, const Desc& src, const Desc& weights, const Desc* bias,
                    const Desc& dst, const Window& w, const dnnl::primitive_attr& attr) {
  if (!within_bounds(w)) return {};
  const Dims dilations = less_one(w.dilations);
  if (bias)
    return make<Primitive>(attr, algorithm, src, weights, *bias, dst, w.strides, dilations, w.begin, w.end);
  return make<Primitive>(attr, algorithm, src, weights, dst, w.strides, dilations, w.begin, w.end);
}

} // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// Whether oneDNN uses all of this instruction set's bits.
static bool uses(dnnl::cpu_isa wanted) {
  const auto bits = static_cast<unsigned>(wanted);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

bool has_avx512() {
  static const bool result = uses(dnnl::cpu_isa::avx512_core);
  return result;
}

bool has_bf16() {
  static const bool result = uses(dnnl::cpu_isa::avx512_core_bf16);
  return result;
}

bool has_vnni() {
  static const bool result = uses(dnnl::cpu_isa::avx512_core_vnni);
  return result;
}

bool takes_bf16(const Target& target) {
  return has_bf16() && stored_types(DType::f32, target).size() > 1;
}

double speedup_of(DType type) {
  constexpr double by_avx512 = 1.8, by_amx = 6;
  if (type == DType::f32) return 1;
  return uses(dnnl::cpu_isa::avx512_core_amx) ? by_amx : by_avx512;
}

dnnl::memory::data_type data_type(DType type) {
  using T = dnnl::memory::data_type;
  switch (type) {
  case DType::f32:
    return T::f32;
  case DType::f16:
    return T::f16;
  case DType::bf16:
    return T::bf16;
  case DType::i8:
    return T::s8;
  case DType::u8:
    return T::u8;
  case DType::i32:
    return T::s32;
  default:
    fail(ErrorCode::unsupported, "onednn: no element type {}", to_string(type));
  }
}

std::optional<Desc> describe(const Shape& shape, const Layout& layout, DType type) {
  const Dims dims = shape.rank() == 0 ? Dims{1} : Dims(shape.begin(), shape.end());
  if (!within_bounds(dims) || shape.elements() == 0) return std::nullopt;
  if (!layout.blocks.empty() && layout.order.size() != shape.rank()) return std::nullopt;
  try {
    if (!layout.blocks.empty()) {
      const auto tag = blocked_tags().find(layout.to_string());
      if (tag == blocked_tags().end()) return std::nullopt;
      return Desc(dims, data_type(type), tag->second);
    }
    const auto strides = shape.rank() == 0 ? std::vector<std::int64_t>{1} : layout.strides(shape);
    return Desc(dims, data_type(type), Dims(strides.begin(), strides.end()));
  } catch (const dnnl::error& error) {
    rethrow_if_memory_ran_out(error);
    return std::nullopt;
  }
}

std::optional<Desc> describe_any(const Dims& dims, DType type) {
  if (!within_bounds(dims)) return std::nullopt;
  return Desc(dims, data_type(type), Tag::any);
}

Desc describe_bytes(std::size_t bytes) {
  return Desc({static_cast<dnnl::memory::dim>(bytes)}, dnnl::memory::data_type::u8, Tag::a);
}

std::optional<Layout> layout_of(const Desc& desc) {
  const auto blocking = blocking_of(desc);
  if (!blocking) return std::nullopt;
  const std::size_t rank = blocking->dims.size();
  Dims outer = blocking->padded;
  std::int64_t stride = 1;
  Layout layout;
  layout.blocks = blocking->blocks;
  for (const Layout::Block& block : layout.blocks) {
    outer[block.dim] /= block.size;
    stride *= block.size;
  }
  layout.order.resize(rank);
  std::iota(layout.order.begin(), layout.order.end(), std::uint8_t{0});
  std::stable_sort(layout.order.begin(), layout.order.end(), [&](std::uint8_t a, std::uint8_t b) {
    return blocking->strides[a] > blocking->strides[b] ||
           (blocking->strides[a] == blocking->strides[b] && outer[a] > outer[b]);
  });
  for (auto dim = layout.order.rbegin(); dim != layout.order.rend(); ++dim) {
    if (outer[*dim] != 1 && blocking->strides[*dim] != stride) return std::nullopt;
    stride *= outer[*dim];
  }
  const Shape shape(std::vector<std::int64_t>(blocking->dims.begin(), blocking->dims.end()));
  const Shape padded = layout.padded(shape);
  if (!std::equal(padded.begin(), padded.end(), blocking->padded.begin(), blocking->padded.end()))
    return std::nullopt;
  if (desc.get_size() != layout.bytes(shape, DType::u8) * dnnl::memory::data_type_size(
#if DNNL_VERSION_MAJOR >= 3
                                                              desc.get_data_type()
#else
                                                              desc.data_type()
#endif
                                                                  ))
    return std::nullopt;
  return layout;
}

bool is_padded(const Desc& desc) {
  const auto blocking = blocking_of(desc);
  return !blocking || blocking->dims != blocking->padded;
}

Descriptor at_this_implementation(const Descriptor& descriptor) {
#if DNNL_VERSION_MAJOR >= 3
  // Copies share one object, which 3.x modifies in place.
  dnnl_primitive_desc_t copy = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&copy, descriptor.get()), "cannot copy a descriptor");
  return Descriptor(dnnl::primitive_desc(copy));
#else
  return descriptor;
#endif
}

Descriptor convolution(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                       const Window& window, const dnnl::primitive_attr& attr) {
  return windowed<dnnl::convolution_forward>(Algorithm::convolution_direct, src, weights, bias, dst, window,
                                             attr);
}

Descriptor deconvolution(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                         const Window& window, const dnnl::primitive_attr& attr) {
  return windowed<dnnl::deconvolution_forward>(Algorithm::deconvolution_direct, src, weights, bias, dst,
                                               window, attr);
}

Descriptor matmul(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                  const dnnl::primitive_attr& attr) {
  if (bias) return make_any<dnnl::matmul>(attr, src, weights, *bias, dst);
  return make_any<dnnl::matmul>(attr, src, weights, dst);
}

Descriptor inner_product(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                         const dnnl::primitive_attr& attr) {
  if (bias) return make<dnnl::inner_product_forward>(attr, src, weights, *bias, dst);
  return make<dnnl::inner_product_forward>(attr, src, weights, dst);
}

Descriptor pooling(Algorithm algorithm, const Desc& src, const Desc& dst, const Window& w,
                   const dnnl::primitive_attr& attr) {
  if (!within_bounds(w)) return {};
#if DNNL_VERSION_MAJOR >= 3
  return make<dnnl::pooling_forward>(attr, algorithm, src, dst, w.strides, w.kernel, less_one(w.dilations),
                                     w.begin, w.end);
#else
  const bool dense = std::all_of(w.dilations.begin(), w.dilations.end(), [](auto size) { return size == 1; });
  if (dense)
    return make<dnnl::pooling_forward>(attr, algorithm, src, dst, w.strides, w.kernel, w.begin, w.end);
  return make<dnnl::pooling_v2_forward>(attr, algorithm, src, dst, w.strides, w.kernel, less_one(w.dilations),
                                        w.begin, w.end);
#endif
}

Descriptor softmax(const Desc& data, int axis, bool logarithm, const dnnl::primitive_attr& attr) {
  const auto algorithm = logarithm ? Algorithm::softmax_log : Algorithm::softmax_accurate;
#if DNNL_VERSION_MAJOR >= 3
  return make<dnnl::softmax_forward>(attr, algorithm, data, data, axis);
#else
  return make<dnnl::softmax_v2_forward>(attr, algorithm, data, data, axis);
#endif
}

Descriptor layer_normalization(const Desc& data, float epsilon, const dnnl::primitive_attr& attr) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
  return make<dnnl::layer_normalization_forward>(attr, data, data, epsilon, flags);
#else
  return make<dnnl::layer_normalization_forward>(attr, data, epsilon, flags);
#endif
}

Descriptor batch_normalization(const Desc& data, float epsilon, const dnnl::primitive_attr& attr) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift |
                     dnnl::normalization_flags::use_global_stats;
#if DNNL_VERSION_MAJOR >= 3
  return make<dnnl::batch_normalization_forward>(attr, data, data, epsilon, flags);
#else
  return make<dnnl::batch_normalization_forward>(attr, data, epsilon, flags);
#endif
}

Descriptor lrn(const Desc& data, std::int64_t size, float alpha, float beta, float k,
               const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  return make<dnnl::lrn_forward>(attr, Algorithm::lrn_across_channels, data, data, size, alpha, beta, k);
#else
  return make<dnnl::lrn_forward>(attr, Algorithm::lrn_across_channels, data, size, alpha, beta, k);
#endif
}

Descriptor resampling(Algorithm algorithm, const Desc& src, const Desc& dst,
                      const dnnl::primitive_attr& attr) {
  return make<dnnl::resampling_forward>(attr, algorithm, src, dst);
}

Descriptor reduction(Algorithm algorithm, const Desc& src, const Desc& dst,
                     const dnnl::primitive_attr& attr) {
  return make_any<dnnl::reduction>(attr, algorithm, src, dst, 1.0F, 0.0F);
}

dnnl::primitive_desc_base concat(const Desc& dst, int axis, const std::vector<Desc>& sources,
                                 const dnnl::primitive_attr& attr) {
  try {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::concat::primitive_desc(engine(), dst, axis, sources, attr);
#else
    return dnnl::concat::primitive_desc(dst, axis, sources, engine(), attr);
#endif
  } catch (const dnnl::error& error) {
    rethrow_if_memory_ran_out(error);
    return {};
  }
}

dnnl::primitive_desc_base reorder(const Desc& src, const Desc& dst, const dnnl::primitive_attr& attr) {
  try {
    return dnnl::reorder::primitive_desc(engine(), src, engine(), dst, attr, true);
  } catch (const dnnl::error& error) {
    rethrow_if_memory_ran_out(error);
    return {};
  }
}

namespace {

struct Eltwise {
  Algorithm algorithm;
  float alpha = 0, beta = 0;
};

Eltwise eltwise_at(const dnnl::post_ops& ops, int place) {
  Eltwise found{Algorithm::undef};
#if DNNL_VERSION_MAJOR >= 3
  ops.get_params_eltwise(place, found.algorithm, found.alpha, found.beta);
#else
  float scale = 1;
  ops.get_params_eltwise(place, scale, found.algorithm, found.alpha, found.beta);
#endif
  return found;
}

// oneDNN 2.6 keeps one set of parameters per algorithm among the post-operations of a product: two linear
// steps with different factors would both use the first one's. Parameters that oneDNN refuses, such as a clip
// to [3, 1], make the step unsupported.
bool append_eltwise(dnnl::post_ops& ops, Algorithm algorithm, float alpha = 0, float beta = 0) {
  for (int place = 0; place < ops.len(); ++place) {
    if (ops.kind(place) != dnnl::primitive::kind::eltwise) continue;
    const Eltwise other = eltwise_at(ops, place);
    if (other.algorithm == algorithm && (other.alpha != alpha || other.beta != beta)) return false;
  }
  try {
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(algorithm, alpha, beta);
#else
    ops.append_eltwise(1.0F, algorithm, alpha, beta);
#endif
    return true;
  } catch (const dnnl::error& error) {
    rethrow_if_memory_ran_out(error);
    return false;
  }
}

} // namespace

void keep_no_primitives() {
  dnnl::set_primitive_cache_capacity(0);
}

bool append(dnnl::post_ops& ops, const ActivationCall& a) {
  // Algorithms that use our alpha and beta; those of others are 0 here.
  static const std::map<std::string_view, Algorithm> same = {
      {"relu", Algorithm::eltwise_relu},    {"leaky_relu", Algorithm::eltwise_relu},
      {"clip", Algorithm::eltwise_clip},    {"sigmoid", Algorithm::eltwise_logistic},
      {"tanh", Algorithm::eltwise_tanh},    {"elu", Algorithm::eltwise_elu},
      {"swish", Algorithm::eltwise_swish},  {"gelu", Algorithm::eltwise_gelu_erf},
      {"mish", Algorithm::eltwise_mish},    {"gelu_by_tanh", Algorithm::eltwise_gelu_tanh},
      {"abs", Algorithm::eltwise_abs},      {"sqrt", Algorithm::eltwise_sqrt},
      {"exp", Algorithm::eltwise_exp},      {"log", Algorithm::eltwise_log},
      {"linear", Algorithm::eltwise_linear}};
  if (const auto found = same.find(a.formula->name); found != same.end())
    return append_eltwise(ops, found->second, a.alpha, a.beta);
  if (a.is("hard_sigmoid"))
    return append_eltwise(ops, Algorithm::eltwise_linear, a.alpha, a.beta) &&
           append_eltwise(ops, Algorithm::eltwise_clip, 0, 1);
  if (a.is("hard_swish"))
    return append_eltwise(ops, Algorithm::eltwise_hardswish, third ? 1.0F / 6 : 0, third ? 0.5F : 0);
  if (a.is("softplus")) return append_eltwise(ops, Algorithm::eltwise_soft_relu, third ? 1.0F : 0);
  return false;
}

bool set_output_scales(dnnl::primitive_attr& attr, const std::vector<float>& scales) {
#if DNNL_VERSION_MAJOR >= 3
  // Scales are arguments of the run there, and apply before the bias.
  static_cast<void>(attr);
  static_cast<void>(scales);
  return false;
#else
  constexpr int by_column = 1 << 1;
  attr.set_output_scales(by_column, scales);
  return true;
#endif
}

void set_source_zero(dnnl::primitive_attr& attr, int zero) {
#if DNNL_VERSION_MAJOR >= 3
  static_cast<void>(zero);
  attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
#else
  attr.set_zero_points(DNNL_ARG_SRC, 0, {zero});
#endif
}

dnnl::primitive_attr attributes(const dnnl::post_ops& ops) {
  dnnl::primitive_attr result;
  result.set_post_ops(ops);
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return result;
}

} // namespace lanner::onednn
