#include "builder/int8/batches.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <lanner/tensor_file.h>

#include "base/check.h"

namespace lanner {
namespace {

constexpr std::int64_t usual_batch = 8; // samples of a run where the model leaves the number open

struct Samples {
  Tensor all;
  bool batched = false;  ///< Its first dim counts batches.
  std::int64_t size = 1; ///< Samples of a batch.
  bool fixed = false;    ///< Whether the last batch must have as many.

  std::int64_t batches() const {
    const std::int64_t count = all.shape()[0];
    return batched ? count : (count + (fixed ? 0 : size - 1)) / size;
  }
  Tensor batch(std::int64_t i) const {
    std::vector<std::int64_t> dims(all.shape().begin(), all.shape().end());
    if (batched)
      dims.erase(dims.begin());
    else
      dims[0] = std::min(size, dims[0] - i * size);
    const Shape shape{std::span<const std::int64_t>(dims)};
    const auto bytes = all.bytes() / static_cast<std::size_t>(all.shape()[0]) *
                       static_cast<std::size_t>(batched ? i : i * size);
    auto* const first = const_cast<std::byte*>(static_cast<const std::byte*>(all.data())) + bytes;
    return Tensor::wrap(first, all.dtype(), shape, std::make_shared<Tensor>(all));
  }
};

/// Samples of one run, and whether the inputs fix their number; else as many as are usual and there.
std::pair<std::int64_t, bool> batch_size(const Graph& graph, const std::map<std::string, Tensor>& tensors) {
  std::int64_t most = usual_batch;
  for (const auto& input : graph.body().parameters()) {
    const auto tensor = tensors.find(input->name());
    if (tensor == tensors.end() || !input->type.is_tensor() || !input->type.ranked()) continue;
    if (input->type.rank() == 0 || tensor->second.rank() != input->type.rank()) continue;
    if (const auto fixed = input->type.dims()[0].constant()) return {*fixed, true};
    most = std::min(most, std::max<std::int64_t>(tensor->second.shape()[0], 1));
  }
  return {most, false};
}

} // namespace

CalibrationData batches_of(const std::filesystem::path& file, const Graph& graph, const Limits& limits) {
  const std::map<std::string, Tensor> tensors = load_tensors(file, limits);
  auto samples = std::make_shared<std::map<std::string, Samples>>();
  const auto [size, fixed] = batch_size(graph, tensors);
  check(size > 0, ErrorCode::invalid_argument,
        "{}: an input of the model has 0 samples; expected at least one", file.string());
  std::int64_t count = -1;
  for (const auto& input : graph.body().parameters()) {
    const auto tensor = tensors.find(input->name());
    check(tensor != tensors.end(), ErrorCode::invalid_argument,
          "{}: no tensor for input {}; expected one for each input, by its name", file.string(),
          input->name());
    const std::size_t rank = tensor->second.rank();
    check(input->type.is_tensor() && input->type.ranked() && rank > 0 &&
              (rank == input->type.rank() || rank == input->type.rank() + 1),
          ErrorCode::invalid_argument, "{}: {} has {} dims; expected those of input {}: {}, or one more",
          file.string(), input->name(), rank, input->name(), input->type.to_string());
    Samples one{tensor->second, rank > input->type.rank(), size, fixed};
    check(count < 0 || count == one.batches(), ErrorCode::invalid_argument,
          "{}: {} has {} batches, other inputs have {}", file.string(), input->name(), one.batches(), count);
    count = one.batches();
    samples->emplace(input->name(), std::move(one));
  }
  check(count > 0, ErrorCode::invalid_argument, "{}: no batch of {} samples; expected at least one",
        file.string(), size);
  return [samples, count,
          next = std::int64_t{0}](bool restart) mutable -> std::optional<std::map<std::string, Item>> {
    if (restart) next = 0;
    if (next >= count) return std::nullopt;
    std::map<std::string, Item> batch;
    for (const auto& [name, one] : *samples) batch.emplace(name, one.batch(next));
    ++next;
    return batch;
  };
}

} // namespace lanner
