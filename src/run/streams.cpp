#include "run/streams.h"

#include <algorithm>

#include <lanner/error.h>

#include "device/cuda/gpu.h"

namespace lanner {

RunStreams::RunStreams(const Program& program) : program_(program) {
  const std::size_t streams = std::max(static_cast<std::size_t>(program.streams()), program.devices().size());
  for (std::size_t s = 1; s < streams; ++s) {
    owned_.push_back(std::make_unique<cuda::OwnedStream>(cuda::Gpu::get(device_of(s))));
    streams_.push_back(owned_.back()->stream());
  }
  std::vector<std::size_t> reached_by(program.events(), 0);
  for (const Segment& segment : program.segments())
    if (segment.event != 0) reached_by[segment.event] = static_cast<std::size_t>(segment.stream);
  for (const std::size_t stream : reached_by)
    events_.push_back(std::make_unique<cuda::Event>(cuda::Gpu::get(device_of(stream))));
}

Device RunStreams::device_of(std::size_t stream) const {
  const std::span<const Device> devices = program_.devices();
  return devices.size() > 1 ? devices[stream] : devices.front();
}

RunStreams::RunStreams(RunStreams&&) noexcept = default;
RunStreams::~RunStreams() = default;

void RunStreams::wait(Stream stream, std::uint32_t first_wait, std::uint32_t waits) {
  for (const std::uint32_t event : program_.waits().subspan(first_wait, waits))
    events_[event]->wait(static_cast<cuda::StreamHandle>(stream.handle));
}

void RunStreams::reach(std::uint32_t event, Stream stream) {
  events_[event]->record(static_cast<cuda::StreamHandle>(stream.handle));
}

/// Memory freed after the first stream's work must not be in use by the others. While a graph is recorded, a
/// stream that never began cannot be waited for; the recording is dropped then in any case.
void RunStreams::abandon(Stream first) noexcept {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    try {
      cuda::Event end(cuda::Gpu::get(device_of(s + 1)));
      end.record(static_cast<cuda::StreamHandle>(streams_[s].handle));
      end.wait(static_cast<cuda::StreamHandle>(first.handle));
    } catch (const Error&) {
      continue; // the original error says more
    }
  }
}

} // namespace lanner
