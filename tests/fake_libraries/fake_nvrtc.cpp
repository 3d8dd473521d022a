// NVRTC without a compiler: its machine code is the source. The fake driver finds kernels by name.

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>

#include "fake_libraries/fake_libraries.h"

namespace {
std::atomic<std::size_t> compiles{0};
}

extern "C" {

struct FakeSource {
  std::string text;
};

std::size_t fake_nvrtc_compiles() {
  return compiles;
}

int nvrtcVersion(int* major, int* minor) {
  *major = 99; // machine code is cached by version: it must never be mistaken for a real one's
  *minor = 0;
  return 0;
}
const char* nvrtcGetErrorString(int) {
  return "asked for by a test";
}
int nvrtcCreateProgram(FakeSource** made, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  *made = new FakeSource{source};
  return 0;
}
int nvrtcDestroyProgram(FakeSource** source) {
  delete *source;
  return 0;
}
int nvrtcCompileProgram(FakeSource*, int, const char* const*) {
  ++compiles;
  return 0;
}
int nvrtcGetProgramLogSize(FakeSource*, std::size_t* size) {
  *size = 0;
  return 0;
}
int nvrtcGetProgramLog(FakeSource*, char*) {
  return 0;
}
int nvrtcGetCUBINSize(FakeSource* source, std::size_t* size) {
  *size = source->text.size();
  return 0;
}
int nvrtcGetCUBIN(FakeSource* source, char* code) {
  std::memcpy(code, source->text.data(), source->text.size());
  return 0;
}
}
