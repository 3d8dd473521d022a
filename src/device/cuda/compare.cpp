#include "device/cuda/compare.h"

#include <string>

#include "device/cuda/code.h"
#include "device/memory.h"

namespace lanner::cuda {
namespace {

/// Device memory for the kernels' counters.
class Counters {
public:
  Counters(const Gpu& gpu, const OwnedStream& stream)
      : gpu_(gpu), stream_(stream), memory_(allocate_memory(gpu.device(), sizeof(DeviceDifference))) {
    const DeviceDifference nothing;
    copy_memory(location(), {const_cast<DeviceDifference*>(&nothing), {}}, sizeof nothing, stream_.stream());
    stream_.synchronize();
  }
  void* data() const { return memory_.get(); }
  DeviceDifference read() const {
    DeviceDifference found;
    copy_memory({&found, {}}, location(), sizeof found, stream_.stream());
    stream_.synchronize();
    return found;
  }

private:
  MemoryLocation location() const { return {memory_.get(), gpu_.device()}; }
  const Gpu& gpu_;
  const OwnedStream& stream_;
  std::shared_ptr<void> memory_;
};

} // namespace

DeviceDifference compare(const Gpu& gpu, const OwnedStream& stream, const DeviceComparison& c) {
  const Counters counters(gpu, stream);
  const std::string name = "compare_" + std::string(c.type);
  launch(embedded_function(gpu, "compare", name.c_str()),
         grid_for(gpu, static_cast<std::int64_t>(c.elements)), stream.stream(), c.got, c.expected,
         static_cast<unsigned long long>(c.elements), static_cast<unsigned long long>(c.period), c.relative,
         c.absolute, c.range, counters.data());
  return counters.read();
}

DeviceDifference compare_words(const Gpu& gpu, const OwnedStream& stream, const void* a, const void* b,
                               std::uint64_t words) {
  const Counters counters(gpu, stream);
  launch(embedded_function(gpu, "compare", "compare_words"), grid_for(gpu, static_cast<std::int64_t>(words)),
         stream.stream(), a, b, static_cast<unsigned long long>(words), counters.data());
  return counters.read();
}

bool can_compare() {
  return has_embedded("compare");
}

} // namespace lanner::cuda
