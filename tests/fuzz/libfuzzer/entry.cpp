#include <cstdint>

#include "fuzz/targets.h"

/// libFuzzer's entry point; each binary has one target.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lanner::fuzz::run(LANNER_FUZZ_TARGET, {reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
