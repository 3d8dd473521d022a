#include "program/weights/device_weights.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "device/memory.h"

namespace lanner {
namespace {

/// A view of memory that is still referenced; undefined where it is not.
Tensor held(const std::weak_ptr<const void>& memory, const Tensor& form, Device device) {
  const std::shared_ptr<const void> owner = memory.lock();
  if (!owner) return {};
  return Tensor::wrap(const_cast<void*>(owner.get()), form.dtype(), form.shape(), owner, form.layout(),
                      device);
}

/// Places blocks segment by segment; each starts with an empty ring.
std::uint64_t place_blocks(std::vector<WeightBlock>& blocks, const std::vector<std::size_t>& segments,
                           std::uint64_t capacity) {
  std::uint64_t used = 0;
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t end = first;
    while (end < blocks.size() && segments[end] == segments[first]) ++end;
    used = std::max(used, place_in_ring(std::span(blocks).subspan(first, end - first), capacity));
    first = end;
  }
  return used;
}

} // namespace

std::shared_ptr<const WeightLocations> ProgramWeights::placed() const {
  const std::lock_guard lock(mutex_);
  return placed_;
}

Tensor DeviceWeights::on(const Tensor& form, Device device) {
  if (form.device() == device) return form;
  const std::lock_guard lock(mutex_);
  return resident(form, device);
}

Tensor DeviceWeights::resident(const Tensor& form, Device device) {
  Copied& copied = copies_[form_of(form, device)];
  if (Tensor there = held(copied.on_device, form, device); there.defined()) return there;
  Tensor made = form.to(device);
  copied.form = form;
  copied.on_device = made.owner();
  return made;
}

Tensor DeviceWeights::pinned(const Tensor& form, Device device) {
  Copied& copied = copies_[form_of(form, device)];
  if (Tensor there = held(copied.pinned, form, {}); there.defined()) return there;
  const std::shared_ptr<void> memory = allocate_pinned(device, form.bytes());
  std::memcpy(memory.get(), form.data(), form.bytes());
  copied.form = form;
  copied.pinned = memory;
  return Tensor::wrap(memory.get(), form.dtype(), form.shape(), memory, form.layout());
}

std::vector<DeviceWeights::ProgramPtr> DeviceWeights::programs() {
  std::erase_if(programs_, [](const auto& program) { return program.expired(); });
  std::vector<ProgramPtr> list;
  for (const auto& program : programs_)
    if (ProgramPtr there = program.lock()) list.push_back(std::move(there));
  return list;
}

std::shared_ptr<const WeightLocations> DeviceWeights::place(const WeightNeeds& needs,
                                                            const WeightChoice& choice) {
  auto placed = std::make_shared<WeightLocations>();
  for (std::size_t c = 0; c < needs.forms.size(); ++c) {
    const Tensor& form = needs.forms[c];
    const Device device = needs.devices[c];
    const bool streamed = choice.streamed.contains(form_of(form, device));
    placed->streamed.push_back(streamed);
    placed->constants.push_back(streamed                  ? pinned(form, device)
                                : form.device() == device ? form
                                                          : resident(form, device));
  }
  std::vector<std::size_t> segments;
  for (const WeightNeeds::Reader& reader : needs.readers) {
    WeightBlock block{.step = reader.step, .first_copy = static_cast<std::uint32_t>(placed->copies.size())};
    for (const std::uint32_t constant : reader.constants) {
      if (!placed->streamed[constant]) continue;
      placed->copies.push_back({constant, block.bytes});
      block.bytes += aligned_weight(placed->constants[constant].bytes());
      ++block.copies;
    }
    if (block.copies == 0) continue;
    placed->blocks.push_back(block);
    segments.push_back(reader.segment);
  }
  placed->ring_bytes = place_blocks(placed->blocks, segments, choice.bytes.ring);
  for (const WeightBlock& block : placed->blocks)
    for (std::uint32_t c = 0; c < block.copies; ++c)
      placed->copies[block.first_copy + c].offset += block.offset;
  return placed;
}

/// All or none.
void DeviceWeights::place_all(const std::vector<ProgramPtr>& programs, WeightChoice choice) {
  std::vector<std::shared_ptr<const WeightLocations>> placed;
  for (const ProgramPtr& program : programs) placed.push_back(place(program->needs_, choice));
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const std::lock_guard lock(programs[p]->mutex_);
    programs[p]->placed_ = std::move(placed[p]);
  }
  choice_ = std::move(choice);
  version_.fetch_add(1, std::memory_order_acq_rel);
}

std::shared_ptr<const ProgramWeights> DeviceWeights::add(WeightNeeds needs) {
  auto added = std::make_shared<ProgramWeights>();
  added->needs_ = std::move(needs);
  const std::lock_guard lock(mutex_);
  if (added->needs_.device.is_host()) {
    added->placed_ = place(added->needs_, {});
    return added;
  }
  std::vector<ProgramPtr> all = programs();
  all.push_back(added);
  WeightChoice choice = choice_of(all, budget_);
  if (choice.streamed == choice_.streamed && choice.bytes.ring == choice_.bytes.ring) {
    added->placed_ = place(added->needs_, choice);
    choice_ = std::move(choice);
  } else {
    place_all(all, std::move(choice));
  }
  programs_.push_back(added);
  return added;
}

void DeviceWeights::set_budget(std::optional<std::uint64_t> bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == budget_) return;
  const std::vector<ProgramPtr> all = programs();
  place_all(all, choice_of(all, bytes));
  budget_ = bytes;
}

WeightChoice DeviceWeights::choice_of(const std::vector<ProgramPtr>& programs,
                                      std::optional<std::uint64_t> budget) {
  std::vector<const WeightNeeds*> needs;
  for (const ProgramPtr& program : programs) needs.push_back(&program->needs_);
  return choose_weights(needs, budget);
}

std::optional<std::uint64_t> DeviceWeights::budget() const {
  const std::lock_guard lock(mutex_);
  return budget_;
}

WeightBytes DeviceWeights::bytes() const {
  const std::lock_guard lock(mutex_);
  return choice_.bytes;
}

std::shared_ptr<DeviceWeights>
DeviceWeights::with_copies(const std::function<bool(const Tensor& form)>& same) const {
  const std::lock_guard lock(mutex_);
  auto made = std::make_shared<DeviceWeights>();
  made->budget_ = budget_;
  for (const auto& [form, copied] : copies_)
    if (same(copied.form)) made->copies_[form] = copied;
  return made;
}

} // namespace lanner
