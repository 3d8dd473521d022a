#include "run/row_blocks.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/account.h"
#include "base/check.h"

namespace lanner {
namespace {

/// What a block takes on any machine of today, to tell blocks apart: timings would make a run's results
/// depend on them.
double seconds_of(const Program& program) {
  constexpr double bytes_a_second = 1e10, flops_a_second = 1e11, step = 1e-6;
  double seconds = 0;
  for (const Step& one : program.steps())
    seconds += step + std::max(static_cast<double>(one.bytes) / bytes_a_second,
                               static_cast<double>(one.flops) / flops_a_second);
  return seconds;
}

std::vector<double> seconds_of(const Bodies& bodies) {
  std::vector<double> seconds;
  for (const Body& body : bodies.list) seconds.push_back(seconds_of(*body.program));
  return seconds;
}

std::byte* row(const Tensor& tensor, std::int64_t number, std::uint64_t row_bytes) {
  return static_cast<std::byte*>(const_cast<void*>(tensor.data())) +
         static_cast<std::uint64_t>(number) * row_bytes;
}

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dims = shape.dims();
  dims[0] = rows;
  return Shape(std::move(dims));
}

} // namespace

RowBlocksStep::RowBlocksStep(const Step& step, std::byte* workspace)
    : node_(*step.node), plan_(*step.bodies->rows), workspace_(workspace),
      choice_(plan_.sizes, seconds_of(*step.bodies)), inputs_(plan_.inputs.size()),
      outputs_(plan_.outputs.size()) {
  bodies_.reserve(step.bodies->list.size());
  for (std::size_t b = 0; b < step.bodies->list.size(); ++b)
    bodies_.emplace_back(step.bodies->list[b], *node_.regions()[b], workspace + step.bodies->arena);
}

void RowBlocksStep::begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs) {
  const Region& block = *node_.regions().back();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor given = view_of(inputs[i]);
    const Type& type = block.parameter(i)->type;
    const bool rows = given.defined() && given.dtype() == type.dtype() && given.rank() == type.rank();
    if (rows && i == 0) rows_ = given.shape()[0];
    check(rows && given.shape() == with_rows(type.shape(), rows_), ErrorCode::invalid_argument,
          "input {} is {}{}, expected {} rows of {}", i, to_string(given.dtype()), given.shape().to_string(),
          rows_, type.to_string());
    inputs_[i] = is_plain(given) ? given : given.clone();
  }
  for (BodyRun& body : bodies_)
    for (std::size_t i = inputs_.size(); i < inputs.size(); ++i) body.give(i, inputs[i]);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const Type& type = block.outputs()[k]->type;
    Shape shape = with_rows(type.shape(), rows_);
    if (!outputs[k].memory) {
      outputs_[k] = Tensor::allocate(type.dtype(), std::move(shape), {}, {}, current_limits());
      continue;
    }
    check(outputs[k].type->shape() == shape, ErrorCode::invalid_argument,
          "output {} is declared {}, but {} rows give {}", k, outputs[k].type->to_string(), rows_,
          shape.to_string());
    outputs_[k] = Tensor::wrap(outputs[k].memory, type.dtype(), std::move(shape), nullptr);
  }
}

void RowBlocksStep::run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                        const RunRequest& request) {
  // Whatever ends the run, nothing is held until the next.
  const std::unique_ptr<RowBlocksStep, void (*)(RowBlocksStep*)> held(
      this, [](RowBlocksStep* step) { step->clear(); });
  begin(inputs, outputs);
  for (std::int64_t first = 0; first < rows_;) {
    request.control.cancel.check();
    const std::size_t block = choice_.next(rows_ - first);
    run_block(block, first, request);
    first += plan_.sizes[block];
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k)
    if (!outputs[k].memory) put(outputs[k], Item(outputs_[k]), fmt::format("output {}", k));
}

/// Rows from `first` on. Where fewer are left than the block has, it runs on a copy whose other rows are 0.
void RowBlocksStep::run_block(std::size_t block, std::int64_t first, const RunRequest& request) {
  BodyRun& body = bodies_[block];
  const std::int64_t size = plan_.sizes[block], taken = std::min(size, rows_ - first);
  const bool whole = taken == size;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto [row_bytes, offset] = plan_.inputs[i];
    std::byte* source = row(inputs_[i], first, row_bytes);
    if (!whole) {
      std::byte* copy = workspace_ + offset;
      const std::uint64_t used = static_cast<std::uint64_t>(taken) * row_bytes;
      std::memcpy(copy, source, used);
      std::memset(copy + used, 0, static_cast<std::uint64_t>(size) * row_bytes - used);
      source = copy;
    }
    body.give_memory(i, source);
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k)
    if (body.writes_memory(k))
      body.write_to(k, whole ? row(outputs_[k], first, plan_.outputs[k].row_bytes)
                             : workspace_ + plan_.outputs[k].buffer);
  body.run(request);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const std::uint64_t row_bytes = plan_.outputs[k].row_bytes;
    std::byte* target = row(outputs_[k], first, row_bytes);
    const StepInput made = body.value(k);
    const void* from = made.memory ? made.memory : made.item->tensor.data();
    if (from != target) std::memcpy(target, from, static_cast<std::uint64_t>(taken) * row_bytes);
  }
}

void RowBlocksStep::clear() {
  std::ranges::fill(inputs_, Tensor{});
  std::ranges::fill(outputs_, Tensor{});
  for (BodyRun& body : bodies_) body.clear();
}

} // namespace lanner
