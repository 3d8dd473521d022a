#include <lanner/dlpack.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <lanner/dlpack_structs.h>

#include "base/check.h"
#include "base/limits/limit_error.h"

namespace lanner {
namespace {

struct TypePair {
  DType type;
  DLDataType dlpack;
};

constexpr std::array<TypePair, dtype_count - 1> types = {{
    {DType::f32, {kDLFloat, 32, 1}},
    {DType::f64, {kDLFloat, 64, 1}},
    {DType::f16, {kDLFloat, 16, 1}},
    {DType::bf16, {kDLBfloat, 16, 1}},
    {DType::i8, {kDLInt, 8, 1}},
    {DType::u8, {kDLUInt, 8, 1}},
    {DType::i16, {kDLInt, 16, 1}},
    {DType::u16, {kDLUInt, 16, 1}},
    {DType::i32, {kDLInt, 32, 1}},
    {DType::u32, {kDLUInt, 32, 1}},
    {DType::i64, {kDLInt, 64, 1}},
    {DType::u64, {kDLUInt, 64, 1}},
    {DType::boolean, {kDLBool, 8, 1}},
    {DType::c64, {kDLComplex, 64, 1}},
    {DType::c128, {kDLComplex, 128, 1}},
    {DType::i4, {kDLInt, 4, 1}},
    {DType::u4, {kDLUInt, 4, 1}},
    {DType::i2, {kDLInt, 2, 1}},
    {DType::u2, {kDLUInt, 2, 1}},
    {DType::f4e2m1, {kDLFloat4_e2m1fn, 4, 1}},
    {DType::f8e4m3fn, {kDLFloat8_e4m3fn, 8, 1}},
    {DType::f8e4m3fnuz, {kDLFloat8_e4m3fnuz, 8, 1}},
    {DType::f8e5m2, {kDLFloat8_e5m2, 8, 1}},
    {DType::f8e5m2fnuz, {kDLFloat8_e5m2fnuz, 8, 1}},
    {DType::f8e8m0, {kDLFloat8_e8m0fnu, 8, 1}},
}};

DLDataType dlpack_type(DType type) {
  for (const TypePair& pair : types)
    if (pair.type == type) return pair.dlpack;
  fail(ErrorCode::unsupported, "dlpack: {} has no DLPack type", to_string(type));
}

DType type_of(DLDataType given) {
  for (const TypePair& pair : types)
    if (pair.dlpack.code == given.code && pair.dlpack.bits == given.bits && given.lanes == 1)
      return pair.type;
  fail(ErrorCode::unsupported, "dlpack: type code {} with {} bits and {} lanes is not one of Lanner's types",
       given.code, given.bits, given.lanes);
}

DLDevice dlpack_device(Device device) {
  return device.is_host() ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, device.index};
}

Device device_of(DLDevice given) {
  if (given.device_type == kDLCPU || given.device_type == kDLCUDAHost) return {};
  const bool cuda = given.device_type == kDLCUDA || given.device_type == kDLCUDAManaged;
  check(cuda && given.device_id >= 0 && given.device_id <= std::numeric_limits<std::int16_t>::max(),
        ErrorCode::unsupported, "dlpack: device type {} number {}; expected memory of the host or of CUDA",
        given.device_type, given.device_id);
  return {DeviceKind::cuda, static_cast<std::int16_t>(given.device_id)};
}

/// A managed tensor of either version together with the data it points to.
template<typename Managed>
struct Export {
  Managed managed{};
  Tensor tensor;
  std::vector<std::int64_t> shape, strides;

  static void destroy(Managed* self) { delete static_cast<Export*>(self->manager_ctx); }
};

template<typename Managed>
Managed* export_tensor(const Tensor& tensor) {
  const DLDataType type = dlpack_type(tensor.dtype());
  check(tensor.layout().blocks.empty(), ErrorCode::unsupported,
        "dlpack: layout {} has blocks, which strides cannot describe; clone() first",
        tensor.layout().to_string());
  auto owned = std::make_unique<Export<Managed>>();
  owned->tensor = tensor;
  owned->shape = tensor.shape().dims();
  owned->strides = tensor.layout().strides(tensor.shape());
  DLTensor& view = owned->managed.dl_tensor;
  view.data = owned->tensor.data();
  view.device = dlpack_device(tensor.device());
  view.ndim = static_cast<std::int32_t>(tensor.rank());
  view.dtype = type;
  view.shape = owned->shape.data();
  view.strides = owned->strides.data();
  owned->managed.manager_ctx = owned.get();
  owned->managed.deleter = &Export<Managed>::destroy;
  return &owned.release()->managed;
}

Shape shape_of(const DLTensor& view) {
  const Limits limits;
  check_limit("rank", static_cast<std::uint32_t>(view.ndim), limits.rank, "dlpack: rank {}", view.ndim);
  check(view.ndim == 0 || view.shape, ErrorCode::invalid_argument, "dlpack: rank {} without a shape",
        view.ndim);
  Shape shape(std::span<const std::int64_t>(view.shape, static_cast<std::size_t>(view.ndim)));
  (void)shape.elements(); // Refuses negative sizes and overflow.
  return shape;
}

/// The layout described by strides; false when elements overlap, have gaps or run backwards.
bool layout_of(const Shape& shape, const std::int64_t* strides, Layout& layout) {
  layout = {};
  if (!strides || shape.elements() == 0) return true;
  // The stride of a dimension of size 1 is meaningless; such dimensions go to the front.
  std::vector<std::uint8_t> order(shape.rank());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  const auto walked =
      std::stable_partition(order.begin(), order.end(), [&](std::uint8_t d) { return shape[d] == 1; });
  std::stable_sort(walked, order.end(),
                   [&](std::uint8_t a, std::uint8_t b) { return strides[a] > strides[b]; });
  std::int64_t expected = 1;
  for (auto dim = order.end(); dim != walked;) {
    --dim;
    if (strides[*dim] != expected) return false;
    expected *= shape[*dim];
  }
  if (!std::is_sorted(walked, order.end())) layout.order = std::move(order);
  return true;
}

Tensor gather(const std::byte* data, DType type, const Shape& shape, const std::int64_t* strides) {
  const std::size_t bytes = bit_width(type) / 8;
  check(bytes > 0, ErrorCode::unsupported, "dlpack: a strided tensor of packed {}; make it contiguous first",
        to_string(type));
  Tensor result = Tensor::allocate(type, shape);
  auto* target = static_cast<std::byte*>(result.data());
  std::vector<std::int64_t> index(shape.rank(), 0);
  for (std::int64_t left = shape.elements(); left > 0; --left) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    const std::byte* source = data + offset * static_cast<std::int64_t>(bytes);
    target = std::copy(source, source + bytes, target);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

Tensor import_view(const DLTensor& view, std::shared_ptr<const void> owner) {
  const DType type = type_of(view.dtype);
  const Device device = device_of(view.device);
  const Shape shape = shape_of(view);
  check(view.data || shape.elements() == 0, ErrorCode::invalid_argument, "dlpack: {} elements without memory",
        shape.elements());
  auto* data = static_cast<std::byte*>(view.data);
  if (data) data += view.byte_offset;
  const std::vector<std::int64_t> dense = dense_strides(shape);
  const std::int64_t* strides = view.strides ? view.strides : dense.data();
  Layout layout;
  const bool described = layout_of(shape, strides, layout);
  const std::size_t component = bit_width(type) / (is_complex(type) ? 16 : 8);
  const bool aligned = component == 0 || reinterpret_cast<std::uintptr_t>(data) % component == 0;
  if (described && aligned)
    return Tensor::wrap(data, type, shape, std::move(owner), std::move(layout), device);
  check(device.is_host(), ErrorCode::unsupported,
        "dlpack: shape {} on {} has strides that no layout describes; make it contiguous first",
        shape.to_string(), device.to_string());
  return gather(data, type, shape, strides);
}

template<typename Managed>
std::shared_ptr<const void> take_over(Managed* managed) {
  check(managed != nullptr, ErrorCode::invalid_argument, "dlpack: no tensor was given");
  return {managed, [](Managed* dying) {
            if (dying->deleter) dying->deleter(dying);
          }};
}

} // namespace

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  return export_tensor<DLManagedTensor>(tensor);
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor) {
  DLManagedTensorVersioned* managed = export_tensor<DLManagedTensorVersioned>(tensor);
  managed->version = {1, 0};
  return managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  auto owner = take_over(managed);
  return import_view(managed->dl_tensor, std::move(owner));
}

Tensor from_dlpack(DLManagedTensorVersioned* managed) {
  auto owner = take_over(managed);
  check(managed->version.major == 1, ErrorCode::unsupported, "dlpack: version {}.{}; expected 1.x",
        managed->version.major, managed->version.minor);
  check(!(managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) || managed->dl_tensor.dtype.bits >= 8,
        ErrorCode::unsupported, "dlpack: elements of {} bits padded to bytes; pack them first",
        managed->dl_tensor.dtype.bits);
  return import_view(managed->dl_tensor, std::move(owner));
}

} // namespace lanner
