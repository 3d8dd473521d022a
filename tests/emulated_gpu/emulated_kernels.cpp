#include "emulated_gpu/emulated_kernels.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <dlfcn.h>

#include <fmt/format.h>

#include "backends/cuda/matrix_source.h"
#include "backends/cuda/source_text.h"
#include "source_dir.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

/// Conversions by instructions of a GPU become those of the host.
std::string host_prelude() {
  std::string text(cuda::prelude());
  const std::pair<const char*, const char*> conversions[] = {
      {R"(asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));)",
       "result = lanner::half_to_float(x.bits);"},
      {R"(asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));)",
       "result.bits = lanner::float_to_half(x);"}};
  for (const auto& [gpu, host] : conversions) {
    const std::size_t at = text.find(gpu);
    if (at == std::string::npos) throw std::runtime_error(fmt::format("the prelude has no {}", gpu));
    text.replace(at, std::string(gpu).size(), host);
  }
  return text;
}

/// What stands for matrix_instructions().
constexpr const char* host_instructions = R"(
inline unsigned char* dynamic_shared() { return emulated::dynamic_shared(); }
inline void load_matrices(unsigned (&r)[4], const element_t* p) { emulated::load_matrices(r, p, false); }
inline void load_transposed(unsigned (&r)[4], const element_t* p) { emulated::load_matrices(r, p, true); }
template<class T> inline void multiply_halves(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (sizeof(T) == 2) emulated::multiply<T>(c, a, b0, b1);
}
inline void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  multiply_halves<element_t>(c, a, b0, b1);
}
template<int BYTES> inline void copy_async(element_t* to, const element_t* from, bool inside) {
  emulated::copy_async(to, from, BYTES, inside);
}
inline void end_group() { emulated::end_group(); }
template<int n> inline void wait_for_groups() { emulated::wait_for_groups(n); }
inline unsigned shared_address(const void* p) { return emulated::shared_address(p); }
)";

/// What stands for group_instructions().
constexpr const char* host_group_instructions = R"(
inline void publish_copies() {}
inline void begin_products() {}
inline void end_products() {}
template<int n> inline void wait_for_products() {}
inline void settle(float&) {}
template<int DOWN, int COUNT> inline void group_multiply(float (&c)[COUNT][4], unsigned long long a, unsigned long long b) {
  emulated::group_multiply<element_t, DOWN>(c, a, b);
}
)";

/// The source with what tests have in place of a part; false where it has no such part.
bool replace(std::string& source, std::string_view part, std::string_view by) {
  const std::size_t at = source.find(part);
  if (at == std::string::npos) return false;
  source.replace(at, part.size(), by);
  return true;
}

/// A source in a namespace of its own, without the macros that it leaves behind.
std::string enclosed(std::size_t number, std::string source) {
  const std::string language = "extern \"C\" ";
  for (std::size_t at = source.find(language); at != std::string::npos; at = source.find(language))
    source.erase(at, language.size());
  std::string ends;
  const std::string define = "#define ";
  for (std::size_t at = source.find(define); at != std::string::npos; at = source.find(define, at + 1)) {
    const std::size_t name = at + define.size();
    ends += "#undef " + source.substr(name, source.find_first_of(" (\n", name) - name) + "\n";
  }
  return fmt::format("namespace kernel{} {{\n{}\n{}}}\n", number, source, ends);
}

/// What a command says, and whether it ends well.
std::pair<bool, std::string> answer(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {false, "popen failed"};
  std::array<char, 4096> part;
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), read);
  return {pclose(pipe) == 0, text};
}

} // namespace

EmulatedKernels::~EmulatedKernels() {
  if (library_) dlclose(library_);
}

std::size_t EmulatedKernels::add(std::string source, std::string name) {
  source.erase(0, cuda::prelude().size());
  replace(source, cuda::matrix_instructions(), host_instructions);
  for (std::int64_t columns = 8; columns <= 256; columns += 8)
    if (replace(source, cuda::group_instructions(columns), host_group_instructions)) break;
  kernels_.emplace_back(std::move(source), std::move(name));
  return kernels_.size() - 1;
}

bool EmulatedKernels::possible() {
  static const bool found =
      std::filesystem::exists(source_dir() / "tests/emulated_gpu/emulated_gpu.h") &&
      answer("printf '#include <ucontext.h>\\n' | c++ -std=c++20 -x c++ -fsyntax-only -").first;
  return found;
}

void EmulatedKernels::compile() {
  const TemporaryFolder folder;
  const std::string source = (folder.path() / "kernels.cpp").string(),
                    library = (folder.path() / "kernels.so").string();
  {
    std::ofstream file(source);
    file << "#include \"emulated_gpu/emulated_gpu.h\"\n#include \"tensor/float16.h\"\n" << host_prelude();
    std::string cases;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      file << enclosed(i, kernels_[i].first);
      cases += fmt::format("  case {}: return emulated::run(kernel{}::{}, blocks, threads, arguments);\n", i,
                           i, kernels_[i].second);
    }
    file
        << "extern \"C\" bool run(unsigned long kernel, unsigned blocks, unsigned threads, void** arguments, "
           "bool copies_at_once) {\n  emulated::gpu().copies_at_once = copies_at_once;\n  switch (kernel) {\n"
        << cases << "  }\n  return false;\n}\n";
  }
  const auto [made, complaint] =
      answer(fmt::format("c++ -std=c++20 -O0 -w -shared -fPIC -I'{0}/tests' -I'{0}/src' "
                         "-I'{0}/include' '{1}' -o '{2}'",
                         source_dir().string(), source, library));
  if (!made) throw std::runtime_error(complaint.substr(0, complaint.find('\n', complaint.find("error"))));
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) throw std::runtime_error(dlerror());
  run_ = reinterpret_cast<Run>(dlsym(library_, "run"));
}

bool EmulatedKernels::run(std::size_t kernel, std::int64_t blocks, int threads, std::vector<void*> arguments,
                          bool copies_at_once) const {
  return run_(kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads), arguments.data(),
              copies_at_once);
}

} // namespace lanner::test
