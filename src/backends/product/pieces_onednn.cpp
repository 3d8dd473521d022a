#include "backends/product/pieces_onednn.h"

#include <algorithm>
#include <span>

#include <lanner/error.h>

#include "device/parallel.h"

namespace lanner::onednn {

// Note [Pieces of a product]
// oneDNN's products wait within their loops for what another thread packed or summed. Such a loop needs all
// of its threads running at once, and is as slow as the thread without a core. A product made for one thread
// does not wait; so each piece of the result's rows, or of a list of matrices, is a primitive of its own, and
// any thread that has a core takes the next piece. The tuner chooses between the two by time.

namespace {

constexpr std::int64_t pieces_of_a_thread = 2;
constexpr std::size_t alignment = 64;

} // namespace

Cut cut_for(int threads, std::int64_t units, std::int64_t least) {
  const std::int64_t count = std::clamp<std::int64_t>(units / least, 1, threads * pieces_of_a_thread);
  return {units, (units - 1) / count + 1};
}

bool UnitBytes::add(const Operand& operand, std::size_t bytes) {
  if (!operand || !operand.is_input()) return bytes == 0;
  const auto [found, fresh] = inputs.try_emplace(operand.index, bytes);
  return (fresh || found->second == bytes) && operand.index < PieceKernel::max_inputs;
}

PieceKernel::PieceKernel(const Cut& cut, const UnitBytes& bytes, std::unique_ptr<Kernel> body,
                         std::unique_ptr<Kernel> last, int threads)
    : cut_(cut), output_bytes_(bytes.output * static_cast<std::size_t>(cut.size)), body_(std::move(body)),
      last_(std::move(last)), threads_(threads) {
  for (const auto& [input, size] : bytes.inputs)
    input_bytes_.at(input) = size * static_cast<std::size_t>(cut.size);
}

std::size_t PieceKernel::piece_workspace() const {
  const std::size_t most = std::max(body_->workspace(), last_ ? last_->workspace() : 0);
  return (most + alignment - 1) / alignment * alignment;
}

std::size_t PieceKernel::workspace() const {
  return piece_workspace() * static_cast<std::size_t>(cut_.count());
}

void PieceKernel::launch(const Launch& launch) const {
  parallel_each(threads_, cut_.count(), [&](std::int64_t piece, std::int64_t) { run(launch, piece); });
}

void PieceKernel::run(const Launch& launch, std::int64_t piece) const {
  const auto at = static_cast<std::size_t>(piece);
  std::array<const void*, max_inputs> inputs{};
  const std::size_t count = std::min(launch.inputs.size(), max_inputs);
  for (std::size_t i = 0; i < count; ++i)
    if (launch.inputs[i]) inputs[i] = static_cast<const std::byte*>(launch.inputs[i]) + at * input_bytes_[i];
  std::array<void*, 1> outputs{static_cast<std::byte*>(launch.outputs[0]) + at * output_bytes_};
  Launch part = launch;
  part.inputs = std::span(inputs).first(count);
  part.outputs = outputs;
  part.workspace = static_cast<std::byte*>(launch.workspace) + at * piece_workspace();
  (last_ && piece + 1 == cut_.count() ? last_ : body_)->launch(part);
}

} // namespace lanner::onednn
