#include "program/schedule.h"

#include <algorithm>

namespace lanner {
namespace {

void raise(StreamCounts& counts, const StreamCounts& other) {
  for (std::size_t s = 0; s < counts.size(); ++s) counts[s] = std::max(counts[s], other[s]);
}

/// Offset of an access's slices within each pitch, if no slice crosses a pitch boundary.
std::optional<std::uint64_t> offset_in_pitch(const Access& access) {
  const std::uint64_t offset = access.first % access.slices.pitch;
  return offset + access.slices.bytes <= access.slices.pitch ? std::optional(offset) : std::nullopt;
}

/// Whether `a` and `b` have the same pitch and disjoint ranges within it.
bool between(const Access& a, const Access& b) {
  if (a.slices.pitch == 0 || a.slices.pitch != b.slices.pitch) return false;
  const auto first = offset_in_pitch(a), second = offset_in_pitch(b);
  return first && second && (*first + a.slices.bytes <= *second || *second + b.slices.bytes <= *first);
}

bool overlap(const Access& a, const Access& b) {
  return a.first < b.end && b.first < a.end && !between(a, b);
}

/// Whether `a` contains all bytes of `b`.
bool covers(const Access& a, const Access& b) {
  const bool contains = a.first <= b.first && b.end <= a.end;
  if (a.slices.pitch == 0 || !contains) return contains;
  return a.first == b.first && a.end == b.end && a.slices.pitch == b.slices.pitch &&
         a.slices.bytes == b.slices.bytes;
}

} // namespace

StreamCounts StepOrder::behind(const Placed& step) {
  StreamCounts counts = step.ended;
  counts[static_cast<std::size_t>(step.stream)] = step.number;
  return counts;
}

void StepOrder::add(int stream, std::span<const std::size_t> behind_these) {
  const auto s = static_cast<std::size_t>(stream);
  Placed placed{stream, reached_[s][s] + 1, reached_[s], waits_.size(), 0};
  std::vector<std::size_t> latest(behind_these.begin(), behind_these.end());
  // Latest first: waiting for a step also waits for those before it, never the other way round.
  std::ranges::sort(latest, std::greater{});
  for (const std::size_t step : latest) {
    const Placed& before = steps_[step];
    if (placed.ended[static_cast<std::size_t>(before.stream)] >= before.number) continue;
    raise(placed.ended, behind(before));
    waits_.push_back(step);
  }
  if (stream != 0 && !begun_[s] && waits_.size() == placed.first_wait) waits_.push_back(beginning);
  placed.waits = waits_.size() - placed.first_wait;
  std::reverse(waits_.begin() + static_cast<std::ptrdiff_t>(placed.first_wait), waits_.end());
  reached_[s] = behind(placed);
  begun_[s] = true;
  last_[s] = steps_.size();
  steps_.push_back(placed);
}

void StepOrder::add_barrier() {
  std::vector<std::size_t> ends;
  for (std::size_t s = 1; s < max_run_streams; ++s)
    if (begun_[s]) ends.push_back(last_[s]);
  add(0, ends);
  reached_.fill(reached_[0]);
  begun_.fill(false);
}

bool StepOrder::before(std::size_t a, std::size_t b) const {
  return steps_[b].ended[static_cast<std::size_t>(steps_[a].stream)] >= steps_[a].number;
}

std::span<const std::size_t> StepOrder::waits(std::size_t step) const {
  return std::span(waits_).subspan(steps_[step].first_wait, steps_[step].waits);
}

void StepOrder::touch(Lifetime& life, std::size_t step) const {
  const Placed& placed = steps_[step];
  for (std::size_t s = 0; s < max_run_streams; ++s) life.after[s] = std::min(life.after[s], placed.ended[s]);
  std::uint32_t& until = life.until[static_cast<std::size_t>(placed.stream)];
  until = std::max(until, placed.number);
}

void Accesses::conflicts(const Access& access, std::vector<std::size_t>& steps) const {
  const auto found = noted_.find(access.memory);
  if (found == noted_.end()) return;
  const auto look = [&](const std::vector<Noted>& list) {
    for (const Noted& noted : list)
      if (overlap(access, noted.access)) steps.push_back(noted.step);
  };
  look(found->second.writes);
  if (access.write) look(found->second.reads);
}

void Accesses::note(const Access& access, std::size_t step) {
  Memory& memory = noted_[access.memory];
  const auto replaced = [&](const Noted& noted) {
    return noted.step != step && covers(access, noted.access);
  };
  if (access.write) {
    std::erase_if(memory.reads, replaced);
    std::erase_if(memory.writes, replaced);
  }
  (access.write ? memory.writes : memory.reads).push_back({access, step});
}

} // namespace lanner
