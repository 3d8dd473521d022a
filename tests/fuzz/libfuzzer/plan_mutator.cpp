// Connects libFuzzer to the mutations of plan_mutation.h.

#include <algorithm>
#include <cstdint>
#include <string>

#include "fuzz/plan_mutation.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  if (size == 0 || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string changed =
      lanner::fuzz::mutated_plan(std::string(reinterpret_cast<const char*>(data), size), seed);
  if (changed.empty() || changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}
