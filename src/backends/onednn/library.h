#pragma once
// Everything that differs between oneDNN 2.6 (Debian 12) and 3.x (Debian 13) is in this file and library.cpp:
// how primitive descriptors are made, the names of activations, how a memory descriptor's blocks are read.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dnnl.hpp>

#include <lanner/layout.h>
#include <lanner/shape.h>

#include "backends/epilogue.h"
#include "graph/target.h"

namespace lanner::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// The CPU engine of all primitives of this module.
const dnnl::engine& engine();
/// Whether oneDNN uses AVX-512 here.
bool has_avx512();
/// Whether it multiplies bf16 by instructions of the processor (AVX512-BF16, AMX).
bool has_bf16();
/// Whether it multiplies bytes without sums that saturate (AVX512-VNNI, AMX).
bool has_vnni();
/// Whether values of f32 may be stored as bf16 on this target, and oneDNN multiplies it.
bool takes_bf16(const Target& target);
/// Operations of products of values stored in this type in the time of one of f32, about: for estimates.
double speedup_of(DType type);
/// Throws Error{unsupported} for types that oneDNN does not know.
dnnl::memory::data_type data_type(DType type);

// Note [Limits of oneDNN]
// Its kernels keep sizes, products of an image's sizes and window extents in `int`, check none of them, and
// generate code for each step of a window in the padding. So library.cpp asks oneDNN nothing beyond these
// limits (a model may ask for anything): there is no descriptor, and another backend takes the node.

/// A descriptor of `shape` in `layout`; nothing when oneDNN has no name for the layout, or beyond its limits.
std::optional<Desc> describe(const Shape& shape, const Layout& layout, DType type);
/// A descriptor whose layout oneDNN chooses; nothing beyond its limits.
std::optional<Desc> describe_any(const Dims& dims, DType type);
/// An opaque descriptor of so many bytes. Attaching a buffer to such a memory never touches it, while oneDNN
/// zeroes the padding of a blocked one each time, even where the buffer is a read-only constant.
Desc describe_bytes(std::size_t bytes);

/// The blocking of a descriptor over its own dims; nothing when there are gaps, an opaque format or extra
/// data after it.
std::optional<Layout> layout_of(const Desc& desc);
bool is_padded(const Desc& desc);

/// Spatial parameters, outermost dimension first. Dilation 1 is dense, as in ONNX.
struct Window {
  Dims kernel, strides, dilations, begin, end;
};

/// A primitive descriptor that can be moved to further implementations. 2.6 reads the operation descriptor
/// again when it moves, so that is kept.
struct Descriptor : dnnl::primitive_desc {
  Descriptor() = default;
  explicit Descriptor(dnnl::primitive_desc descriptor, std::shared_ptr<const void> operation = nullptr)
      : dnnl::primitive_desc(std::move(descriptor)), operation(std::move(operation)) {}
  std::shared_ptr<const void> operation;
};

/// A copy of the implementation that `descriptor` is at now, unaffected when `descriptor` moves on.
Descriptor at_this_implementation(const Descriptor& descriptor);

// Each returns an empty descriptor when oneDNN has no implementation, or for a window beyond its limits.
// `bias` may be null.
Descriptor convolution(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                       const Window& window, const dnnl::primitive_attr& attr);
Descriptor deconvolution(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                         const Window& window, const dnnl::primitive_attr& attr);
Descriptor matmul(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                  const dnnl::primitive_attr& attr);
Descriptor inner_product(const Desc& src, const Desc& weights, const Desc* bias, const Desc& dst,
                         const dnnl::primitive_attr& attr);
Descriptor pooling(dnnl::algorithm algorithm, const Desc& src, const Desc& dst, const Window& window,
                   const dnnl::primitive_attr& attr);
Descriptor softmax(const Desc& data, int axis, bool logarithm, const dnnl::primitive_attr& attr);
Descriptor layer_normalization(const Desc& data, float epsilon, const dnnl::primitive_attr& attr);
Descriptor batch_normalization(const Desc& data, float epsilon, const dnnl::primitive_attr& attr);
Descriptor lrn(const Desc& data, std::int64_t size, float alpha, float beta, float k,
               const dnnl::primitive_attr& attr);
Descriptor resampling(dnnl::algorithm algorithm, const Desc& src, const Desc& dst,
                      const dnnl::primitive_attr& attr);
Descriptor reduction(dnnl::algorithm algorithm, const Desc& src, const Desc& dst,
                     const dnnl::primitive_attr& attr);
dnnl::primitive_desc_base concat(const Desc& dst, int axis, const std::vector<Desc>& sources,
                                 const dnnl::primitive_attr& attr);
dnnl::primitive_desc_base reorder(const Desc& src, const Desc& dst, const dnnl::primitive_attr& attr);

/// Appends an activation; false when this version does not have it.
bool append(dnnl::post_ops& ops, const ActivationCall& activation);

/// Disables oneDNN's primitive cache. The cache also answers the iteration over a descriptor's
/// implementations, with entries of others that it considers equal, so that the iteration would depend on
/// what had run before.
void keep_no_primitives();

/// What sums of bytes are multiplied with, by column: one number, or one each. False: not in this version.
bool set_output_scales(dnnl::primitive_attr& attr, const std::vector<float>& scales);
/// The zero point of the first operand.
void set_source_zero(dnnl::primitive_attr& attr, int zero);

/// Attributes with a user-provided scratchpad.
dnnl::primitive_attr attributes(const dnnl::post_ops& ops = {});

} // namespace lanner::onednn
