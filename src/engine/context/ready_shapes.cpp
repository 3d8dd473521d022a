#include "engine/context/ready_shapes.h"

#include <algorithm>
#include <utility>

#include "base/threads/sole_owner.h"

namespace lanner {
namespace {

constexpr std::size_t kept_shapes = 8;

std::uint64_t bytes_of(const Tensor& tensor) {
  return tensor.defined() && tensor.dtype() != DType::string ? tensor.bytes() : 0;
}

/// Moves the element at `found` to the front.
template<typename List, typename Position>
void bring_to_front(List& list, Position found) {
  std::rotate(list.begin(), found, std::next(found));
}

} // namespace

ReadyShapes::ReadyShapes(InputShapes of, std::shared_ptr<const Program> program, const Arenas& arenas)
    : shapes(std::move(of)), arenas(arenas),
      execution(std::make_unique<Execution>(std::move(program), arenas)) {
  results.resize(execution->program().results().size());
  written.resize(results.size());
  staged.resize(shapes.size());
}

ValueLocation::Kind ReadyShapes::location_of(std::size_t output) const {
  return execution->program().results()[output].kind;
}

bool ReadyShapes::is_item(std::size_t output) const {
  // A constant that is itself a result and not plain memory: strings.
  return location_of(output) == ValueLocation::Kind::item ||
         location_of(output) == ValueLocation::Kind::constant;
}

void ReadyShapes::swap_executions() {
  if (!other) other = std::make_unique<Execution>(execution->shared_program(), arenas);
  std::swap(execution, other);
}

void ReadyShapes::rest(const std::vector<bool>& lent) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (lent[i] || is_item(i)) results[i] = {};
  for (const auto* one : {&execution, &other})
    if (*one) std::ranges::fill((*one)->items(), Item{});
}

std::uint64_t ReadyShapes::bytes() const {
  std::uint64_t total = 0;
  for (const Item& result : results) total += bytes_of(result.tensor);
  for (const auto* tensors : {&staged, &written})
    for (const Tensor& tensor : *tensors) total += bytes_of(tensor);
  for (const auto* one : {&execution, &other})
    if (*one) total += (*one)->kept_bytes();
  return total;
}

bool ReadyList::take(const InputShapes& shapes, const std::vector<bool>& lent) {
  const auto found = std::ranges::find_if(list_, [&](const auto& one) { return one->shapes == shapes; });
  if (found == list_.end()) return false;
  if (found != list_.begin()) list_.front()->rest(lent);
  bring_to_front(list_, found);
  return true;
}

void ReadyList::add(std::unique_ptr<ReadyShapes> ready, const std::vector<bool>& lent) {
  if (!list_.empty()) list_.front()->rest(lent);
  list_.insert(list_.begin(), std::move(ready));
}

void ReadyList::trim(std::uint64_t max_bytes) {
  if (list_.size() > kept_shapes) list_.resize(kept_shapes);
  std::uint64_t held = 0;
  for (std::size_t i = 1; i < list_.size(); ++i) {
    held += list_[i]->bytes();
    if (held > max_bytes) return list_.resize(i);
  }
}

bool ReadyList::drop_idle() {
  if (list_.size() < 2) return false;
  list_.resize(1);
  return true;
}

Tensor& SpareTensors::get(DType dtype, const Shape& shape, Device device, std::uint64_t max_bytes) {
  const auto found = std::ranges::find_if(list_, [&](const Tensor& one) {
    return one.dtype() == dtype && one.shape() == shape && sole_owner(one.owner());
  });
  if (found != list_.end()) {
    bring_to_front(list_, found);
    return list_.front();
  }
  // Tensors that callers still hold cannot be reused here.
  std::erase_if(list_, [](const Tensor& one) { return one.owner().use_count() > 1; });
  std::uint64_t held = 0;
  std::size_t kept = 0;
  while (kept < list_.size() && kept + 1 < kept_shapes && held + bytes_of(list_[kept]) <= max_bytes)
    held += bytes_of(list_[kept++]);
  list_.resize(kept);
  list_.insert(list_.begin(), Tensor::allocate(dtype, shape, {}, device));
  return list_.front();
}

bool SpareTensors::drop_idle() {
  if (list_.size() < 2) return false;
  list_.resize(1);
  return true;
}

} // namespace lanner
