#include "run/row_blocks.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

/// A fixed machine model that estimates the time of a block: with measured times a run's results would depend
/// on them.
struct Machine {
  double bytes_a_second, flops_a_second, step;
};
constexpr Machine any_host{1e10, 1e11, 1e-6}, any_gpu{1e12, 1e13, 4e-6};

double seconds_of(const Program& program) {
  const Machine& machine = program.device().is_host() ? any_host : any_gpu;
  double seconds = 0;
  for (const Step& one : program.steps())
    seconds += machine.step + std::max(static_cast<double>(one.bytes) / machine.bytes_a_second,
                                       static_cast<double>(one.flops) / machine.flops_a_second);
  return seconds;
}

std::vector<double> seconds_of(const Subprograms& subprograms) {
  std::vector<double> seconds;
  for (const Subprogram& subprogram : subprograms.list) seconds.push_back(seconds_of(*subprogram.program));
  return seconds;
}

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dims = shape.dims();
  dims[0] = rows;
  return Shape(std::move(dims));
}

} // namespace

RowBlocksStep::RowBlocksStep(const Step& step, const SubprogramMemory& memory)
    : node_(*step.node), plan_(*step.subprograms->rows), device_(step.subprograms->device),
      workspace_(memory.workspace), choice_(plan_.sizes, seconds_of(*step.subprograms)),
      inputs_(plan_.inputs.size()), outputs_(plan_.outputs.size()) {
  subprograms_.reserve(step.subprograms->list.size());
  for (std::size_t b = 0; b < step.subprograms->list.size(); ++b)
    subprograms_.emplace_back(step.subprograms->list[b], *node_.regions()[b],
                              subprogram_arenas(*step.subprograms, memory));
}

MemoryLocation RowBlocksStep::row(const Tensor& tensor, std::int64_t number, std::uint64_t row_bytes) const {
  return {static_cast<std::byte*>(const_cast<void*>(tensor.data())) +
              static_cast<std::uint64_t>(number) * row_bytes,
          device_};
}

void RowBlocksStep::begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                          const Transfers& transfers) {
  const Region& block = *node_.regions().back();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor given = view_of(inputs[i]);
    const Type& type = block.parameter(i)->type;
    const bool rows = given.defined() && given.dtype() == type.dtype() && given.rank() == type.rank();
    if (rows && i == 0) rows_ = given.shape()[0];
    check(rows && given.shape() == with_rows(type.shape(), rows_), ErrorCode::invalid_argument,
          "input {} is {}{}, expected {} rows of {}", i, to_string(given.dtype()), given.shape().to_string(),
          rows_, type.to_string());
    inputs_[i] = transfers.on(device_, given);
  }
  for (SubprogramRun& subprogram : subprograms_)
    for (std::size_t i = inputs_.size(); i < inputs.size(); ++i) subprogram.give(i, inputs[i], transfers);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const Type& type = block.outputs()[k]->type;
    Shape shape = with_rows(type.shape(), rows_);
    if (!outputs[k].memory) {
      outputs_[k] = transfers.allocate(type.dtype(), shape, device_);
      continue;
    }
    check(outputs[k].type->shape() == shape, ErrorCode::invalid_argument,
          "output {} is declared {}, but {} rows give {}", k, outputs[k].type->to_string(), rows_,
          shape.to_string());
    outputs_[k] = Tensor::wrap(outputs[k].memory, type.dtype(), std::move(shape), nullptr, {}, device_);
  }
}

void RowBlocksStep::run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                        const RunRequest& request) {
  // Releases everything however the run ends.
  const std::unique_ptr<RowBlocksStep, void (*)(RowBlocksStep*)> held(
      this, [](RowBlocksStep* step) { step->clear(); });
  const Transfers transfers(request);
  begin(inputs, outputs, transfers);
  for (std::int64_t first = 0; first < rows_;) {
    request.control.cancel.check();
    const std::size_t block = choice_.next(rows_ - first);
    run_block(block, first, request);
    first += plan_.sizes[block];
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k)
    if (!outputs[k].memory) put(outputs[k], Item(outputs_[k]), fmt::format("output {}", k), transfers);
}

/// Runs rows from `first` on. Where fewer are left than the block has, or where they are not aligned for
/// kernels, it runs on a copy, whose other rows are 0.
void RowBlocksStep::run_block(std::size_t block, std::int64_t first, const RunRequest& request) {
  const Transfers transfers(request);
  SubprogramRun& subprogram = subprograms_[block];
  const std::int64_t size = plan_.sizes[block], taken = std::min(size, rows_ - first);
  const auto in_place = [&](const MemoryLocation& location) {
    return taken == size && fits_kernels(location);
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto [row_bytes, offset] = plan_.inputs[i];
    MemoryLocation source = row(inputs_[i], first, row_bytes);
    if (!in_place(source)) {
      std::byte* copy = workspace_ + offset;
      const std::uint64_t used = static_cast<std::uint64_t>(taken) * row_bytes;
      transfers.copy({copy, device_}, source, used);
      transfers.clear({copy + used, device_}, static_cast<std::uint64_t>(size) * row_bytes - used);
      source.data = copy;
    }
    subprogram.give_memory(i, source.data);
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (!subprogram.writes_memory(k)) continue;
    const MemoryLocation target = row(outputs_[k], first, plan_.outputs[k].row_bytes);
    subprogram.write_to(k, in_place(target) ? target.data : workspace_ + plan_.outputs[k].buffer);
  }
  subprogram.run(request);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const std::uint64_t row_bytes = plan_.outputs[k].row_bytes;
    transfers.copy(row(outputs_[k], first, row_bytes), location_of(view_of(subprogram.value(k))),
                   static_cast<std::uint64_t>(taken) * row_bytes);
  }
}

void RowBlocksStep::clear() {
  std::ranges::fill(inputs_, Tensor{});
  std::ranges::fill(outputs_, Tensor{});
  for (SubprogramRun& subprogram : subprograms_) subprogram.clear();
}

} // namespace lanner
