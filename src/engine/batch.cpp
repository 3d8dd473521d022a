#include <lanner/batch.h>

#include <algorithm>

namespace lanner {

static bool is_batch_of(const Tensor& output, std::size_t count) {
  return output.rank() > 0 && output.shape()[0] == static_cast<std::int64_t>(count) &&
         output.dtype() != DType::string;
}

Tensor batch_part(const Tensor& output, std::size_t n, std::size_t count) {
  if (!is_batch_of(output, count)) return output;
  Shape shape = output.shape();
  shape[0] = 1;
  const std::uint64_t bytes = output.bytes() / count;
  void* data = const_cast<std::byte*>(static_cast<const std::byte*>(output.data())) + n * bytes;
  return Tensor::wrap(data, output.dtype(), shape, output.owner(), {}, output.device());
}

bool has_batch_parts(const Engine& engine, const Context& context, std::size_t count) {
  return std::ranges::all_of(engine.outputs(), [&](const Binding& binding) {
    return !binding.sequence && is_batch_of(context.output(binding.name).tensor, count);
  });
}

} // namespace lanner
