#include "tensor/safetensors.h"

#include "fuzz/targets.h"

namespace lanner::fuzz {

void read_safetensors(std::span<const std::byte> input) {
  const Safetensors file = Safetensors::open(open_bytes(input), small_limits());
  for (const SafetensorsEntry& entry : file.entries()) file.tensor(entry.name);
}

} // namespace lanner::fuzz
