#include "tensors.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include <lanner/error.h>

namespace lanner::tensorflow_ops {
namespace {

constexpr std::uint64_t tensorflow_alignment = 64; // of TensorFlow's allocator for CPUs

thread_local TF_OpKernelContext* current = nullptr;

/// Memory of TensorFlow's: tensors by their data.
struct Lent {
  std::mutex mutex;
  std::unordered_map<void*, TensorPtr> tensors;
};
Lent& lent() {
  static Lent* made = new Lent; // engines may die after static objects
  return *made;
}

void* allocate_here(const lanner_allocation& wanted) {
  const std::uint64_t alignment = std::max<std::uint64_t>(wanted.alignment, sizeof(void*));
  const std::uint64_t bytes = (wanted.bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, bytes);
}

void* allocate(void*, const lanner_allocation* wanted) {
  const bool plain = wanted->device == LANNER_CPU && wanted->pinned == 0;
  if (!plain) return nullptr;
  if (!current || wanted->alignment > tensorflow_alignment) return allocate_here(*wanted);
  const auto size = static_cast<std::int64_t>(wanted->bytes);
  TF_AllocatorAttributes attributes{sizeof(TF_AllocatorAttributes), 1};
  const Status status;
  TensorPtr tensor(c_api().TF_AllocateTemp(current, tf_uint8, &size, 1, &attributes, status.get()));
  if (!status.ok() || !tensor) return nullptr;
  void* const data = c_api().TF_TensorData(tensor.get());
  if (reinterpret_cast<std::uintptr_t>(data) % wanted->alignment != 0) return allocate_here(*wanted);
  Lent& all = lent();
  const std::scoped_lock lock(all.mutex);
  all.tensors[data] = std::move(tensor);
  return data;
}

void release(void*, void* memory, const lanner_allocation*) {
  TensorPtr tensor;
  {
    Lent& all = lent();
    const std::scoped_lock lock(all.mutex);
    if (const auto found = all.tensors.find(memory); found != all.tensors.end()) {
      tensor = std::move(found->second);
      all.tensors.erase(found);
    }
  }
  if (!tensor) std::free(memory);
}

/// A result that lies in memory of TensorFlow's, as a tensor of its type: TensorFlow may pass the memory on
/// to the next operators. Null where it does not.
TensorPtr seen_as(const Tensor& tensor, TF_DataType type) {
  const CApi& api = c_api();
  const auto& dims = tensor.shape().dims();
  const std::int64_t none = 0;
  Lent& all = lent();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.tensors.find(const_cast<void*>(tensor.data()));
  if (found == all.tensors.end() || api.TF_TensorByteSize(found->second.get()) != tensor.bytes())
    return nullptr;
  TensorPtr made(api.TF_AllocateTensor(type, &none, 1, 0));
  const Status status;
  api.TF_TensorBitcastFrom(found->second.get(), type, made.get(), dims.data(), static_cast<int>(dims.size()),
                           status.get());
  return status.ok() ? std::move(made) : nullptr;
}

/// Any result as a tensor of TensorFlow's, which reads its memory and never writes to it.
TensorPtr wrapped(const Tensor& tensor, TF_DataType type) {
  const auto& dims = tensor.shape().dims();
  auto* const owner = new Tensor(tensor);
  return TensorPtr(c_api().TF_NewTensor(
      type, dims.data(), static_cast<int>(dims.size()), owner->data(), owner->bytes(),
      [](void*, std::size_t, void* kept) { delete static_cast<Tensor*>(kept); }, owner));
}

} // namespace

std::optional<DType> dtype_of_tensorflow(TF_DataType type) {
  constexpr std::pair<TF_DataType, DType> known[] = {
      {1, DType::f32},  {2, DType::f64},  {3, DType::i32},      {4, DType::u8},    {5, DType::i16},
      {6, DType::i8},   {9, DType::i64},  {10, DType::boolean}, {14, DType::bf16}, {17, DType::u16},
      {19, DType::f16}, {22, DType::u32}, {23, DType::u64}};
  for (const auto& [number, made] : known)
    if (number == type) return made;
  return std::nullopt;
}

Tensor shared(TensorPtr tensor) {
  const CApi& api = c_api();
  const auto type = dtype_of_tensorflow(api.TF_TensorType(tensor.get()));
  errors::check(type.has_value(), ErrorCode::unsupported,
                "an engine takes no tensors of TensorFlow's type {}", api.TF_TensorType(tensor.get()));
  Shape shape;
  for (int d = 0; d < api.TF_NumDims(tensor.get()); ++d) shape.push_back(api.TF_Dim(tensor.get(), d));
  void* const data = api.TF_TensorData(tensor.get());
  static std::byte nothing[64];
  const std::shared_ptr<TF_Tensor> owner(tensor.release(), DeleteTensor());
  return Tensor::wrap(data ? data : nothing, *type, std::move(shape), owner);
}

void set_output(TF_OpKernelContext* context, int index, const Tensor& tensor) {
  const CApi& api = c_api();
  const TF_DataType type = api.TF_ExpectedOutputDataType(context, index);
  errors::check(dtype_of_tensorflow(type) == tensor.dtype(), ErrorCode::bad_data,
                "output {}: the engine's type is {}, the node has TensorFlow's type {}", index,
                to_string(tensor.dtype()), type);
  const auto& dims = tensor.shape().dims();
  const auto rank = static_cast<int>(dims.size());
  const Status status;
  TensorPtr made;
  if (tensor.bytes() == 0)
    made.reset(api.TF_AllocateOutput(context, index, type, dims.data(), rank, 0, status.get()));
  else if (!(made = seen_as(tensor, type)))
    made = wrapped(tensor, type);
  status.check("an output");
  errors::check(made != nullptr, ErrorCode::internal, "output {}: TensorFlow refuses its memory", index);
  if (tensor.bytes() != 0) api.TF_SetOutput(context, index, made.get(), status.get());
  status.check("an output");
}

const lanner_allocator& tensorflow_allocator() {
  static const lanner_allocator table{nullptr, allocate, release};
  return table;
}

CurrentContext::CurrentContext(TF_OpKernelContext* context) : outer_(current) {
  current = context;
}

CurrentContext::~CurrentContext() {
  current = outer_;
}

} // namespace lanner::tensorflow_ops
