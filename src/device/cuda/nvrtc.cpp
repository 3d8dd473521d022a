#include "device/cuda/nvrtc.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"
#include "device/cuda/shared_library.h"

namespace lanner::cuda {
namespace {

using Program = struct NvrtcProgramTag*;

/// The functions that are called; status 0 is success (docs.nvidia.com, "NVRTC").
struct Nvrtc {
  int (*version)(int* major, int* minor);
  const char* (*error_string)(int);
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names);
  int (*destroy)(Program*);
  int (*compile)(Program, int options, const char* const* list);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*cubin_size)(Program, std::size_t*);
  int (*cubin)(Program, char*);
};

struct Opened {
  Nvrtc table{};
  NvrtcStatus status;
};

bool bind_all(SharedLibrary& library, Nvrtc& n) {
  return library.bind("nvrtcVersion", n.version) && library.bind("nvrtcGetErrorString", n.error_string) &&
         library.bind("nvrtcCreateProgram", n.create) && library.bind("nvrtcDestroyProgram", n.destroy) &&
         library.bind("nvrtcCompileProgram", n.compile) &&
         library.bind("nvrtcGetProgramLogSize", n.log_size) && library.bind("nvrtcGetProgramLog", n.log) &&
         library.bind("nvrtcGetCUBINSize", n.cubin_size) && library.bind("nvrtcGetCUBIN", n.cubin);
}

const Opened& opened() {
  static const auto* result = [] {
    auto* made = new Opened;
    static constexpr const char* names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    SharedLibrary library = open_library(names);
    made->status.path = library.path;
    if (library.handle && bind_all(library, made->table)) {
      int major = 0, minor = 0;
      static_cast<void>(made->table.version(&major, &minor));
      made->status.version = fmt::format("{}.{}", major, minor);
      made->status.found = true;
    }
    made->status.reason = library.reason;
    return made;
  }();
  return *result;
}

void check_nvrtc(int status, const char* call) {
  lanner::check(status == 0, ErrorCode::device, "{}: {}", call, opened().table.error_string(status));
}

/// A program that is destroyed at the end of its scope.
class Source {
public:
  explicit Source(const std::string& text) {
    check_nvrtc(opened().table.create(&program_, text.c_str(), "kernel.cu", 0, nullptr, nullptr),
                "nvrtcCreateProgram");
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() { static_cast<void>(opened().table.destroy(&program_)); }

  std::string log() const {
    std::size_t size = 0;
    if (opened().table.log_size(program_, &size) != 0 || size == 0) return {};
    std::string text(size, '\0');
    if (opened().table.log(program_, text.data()) != 0) return {};
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
  }
  std::string cubin() const {
    std::size_t size = 0;
    check_nvrtc(opened().table.cubin_size(program_, &size), "nvrtcGetCUBINSize");
    std::string code(size, '\0');
    check_nvrtc(opened().table.cubin(program_, code.data()), "nvrtcGetCUBIN");
    return code;
  }
  int compile(const std::string& architecture) const {
    const char* const list[] = {architecture.c_str(), "--std=c++17", "--fmad=true",
                                "--device-as-default-execution-space"};
    return opened().table.compile(program_, static_cast<int>(std::size(list)), list);
  }

private:
  Program program_ = nullptr;
};

} // namespace

const NvrtcStatus& nvrtc_status() {
  return opened().status;
}

std::string compile(const std::string& source, int capability) {
  const NvrtcStatus& status = nvrtc_status();
  lanner::check(status.found, ErrorCode::unsupported,
                "NVRTC, which compiles kernels for the GPU, was not found: {}; install nvidia-cuda-nvrtc or "
                "set CUDA_PATH",
                status.reason);
  const Source program(source);
  // Architecture-specific instructions, such as warp-group products, need the suffix `a`.
  constexpr int with_own_instructions = 90;
  const int result = program.compile(
      fmt::format("--gpu-architecture=sm_{}{}", capability, capability == with_own_instructions ? "a" : ""));
  lanner::check(result == 0, ErrorCode::internal, "a kernel does not compile: {}",
                one_line(program.log(), 400));
  return program.cubin();
}

} // namespace lanner::cuda
