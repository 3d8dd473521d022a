#include "run/lanes.h"

#include <lanner/error.h>

#include "device/cuda/gpu.h"

namespace lanner {

Lanes::Lanes(const Program& program) : program_(program) {
  const cuda::Gpu& gpu = cuda::Gpu::get(program.device());
  for (int s = 1; s < program.streams(); ++s) {
    owned_.push_back(std::make_unique<cuda::OwnedStream>(gpu));
    streams_.push_back(owned_.back()->stream());
  }
  for (std::uint32_t e = 0; e < program.events(); ++e) events_.push_back(std::make_unique<cuda::Event>(gpu));
}

Lanes::Lanes(Lanes&&) noexcept = default;
Lanes::~Lanes() = default;

void Lanes::wait(Stream stream, std::uint32_t first_wait, std::uint32_t waits) {
  for (const std::uint32_t event : program_.waits().subspan(first_wait, waits))
    events_[event]->wait(static_cast<cuda::StreamHandle>(stream.handle));
}

void Lanes::reach(std::uint32_t event, Stream stream) {
  events_[event]->record(static_cast<cuda::StreamHandle>(stream.handle));
}

/// Who gives memory back once the first stream is done must not meet work of the others. While a graph is
/// recorded, one that never began cannot be waited for; the recording is dropped then in any case.
void Lanes::abandon(Stream first) noexcept {
  for (const Stream& stream : streams_) {
    try {
      cuda::Event end(cuda::Gpu::get(program_.device()));
      end.record(static_cast<cuda::StreamHandle>(stream.handle));
      end.wait(static_cast<cuda::StreamHandle>(first.handle));
    } catch (const Error&) {
      continue; // the error that led here says more
    }
  }
}

} // namespace lanner
