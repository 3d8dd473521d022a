#include "emulated_gpu/host_source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <dlfcn.h>
#include <unistd.h>

#include "emulated_gpu/block_runner.h"

namespace emulated {
namespace {

const std::filesystem::path checkout = LANNER_SOURCE_DIR;

/// The position after the parenthesis that closes the one at `at`.
std::size_t end_of_parentheses(const std::string& text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '"' && text[i - 1] != '\\') in_string = !in_string;
    if (in_string) continue;
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  throw std::runtime_error("unclosed parenthesis: " + text.substr(at, 60));
}

/// Splits at a character outside of strings and parentheses.
std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool in_string = false;
  for (const char c : text) {
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == '(' || c == '[')) ++depth;
    if (!in_string && (c == ')' || c == ']')) --depth;
    if (c == separator && !in_string && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Function name of an instruction: `cvt.rn.f16.f32 %0, %1;` is cvt_rn_f16_f32. Of a block in braces, which
/// declares a register first, it is the second instruction's.
std::string function_of(const std::string& literals) {
  std::size_t start = literals.find('"') + 1;
  if (literals[start] == '{') start = literals.find_first_not_of(' ', literals.find(';', start) + 1);
  std::string name;
  for (std::size_t i = start; i < literals.size(); ++i) {
    const char c = literals[i];
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') break;
    name += c == '.' ? '_' : c;
  }
  while (name.ends_with('_')) name.pop_back();
  if (name.starts_with("wgmma_mma_async"))
    return "wgmma_mma_async"; // Its size follows from the number of operands.
  return name.empty() ? "nothing" : name;
}

/// `("text" : "=f"(a) : "h"(b) : "memory")` as arguments of a call.
std::string call_of(const std::string& statement) {
  const std::vector<std::string> sections = parts_of(statement.substr(1, statement.size() - 2), ':');
  std::string call = "emulated::" + function_of(sections[0]) + "(" + sections[0];
  for (std::size_t s = 1; s < sections.size() && s < 3; ++s)
    for (const std::string& operand : parts_of(sections[s], ','))
      if (const std::size_t open = operand.find('('); open != std::string::npos)
        call += ", " + operand.substr(open);
  return call + ")";
}

/// Wraps a source in its own namespace, and undefines its macros at the end.
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
  const std::string space = "kernels" + std::to_string(number);
  std::string rows;
  for (const std::string& name : kernel_names(source))
    rows += "  emulated::Entry<&" + name + ">::row(\"" + name + "\"),\n";
  return "namespace " + space + " {\n" + source + "\nconst emulated::KernelRow lanner_rows[] = {\n" + rows +
         "};\n}\n" + ends;
}

std::string library_text(const std::vector<std::string>& sources) {
  std::string text =
                  "#include \"emulated_gpu/instructions.h\"\nemulated::Device* emulated::device = nullptr;\n",
              cases;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    text += enclosed(i, host_source(sources[i]));
    const std::string number = std::to_string(i);
    cases += "  case " + number + ":\n    *rows = kernels" + number +
             "::lanner_rows;\n    return sizeof(kernels" + number + "::lanner_rows) / sizeof(**rows);\n";
  }
  return text +
         "extern \"C\" __attribute__((visibility(\"default\"))) unsigned long lanner_kernels(\n"
         "    emulated::Device* device, unsigned long source, const emulated::KernelRow** rows, unsigned "
         "char** shared) {\n"
         "  emulated::device = device;\n  *shared = emulated::dynamic_memory;\n  switch (source) {\n" +
         cases + "  }\n  return 0;\n}\n";
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// FNV-1a, twice with different seeds: file names in a folder that only tests write to.
std::string hash_of(const std::string& text) {
  std::uint64_t hashes[] = {14695981039346656037ULL, 1099511628211ULL * 77};
  for (const char c : text)
    for (std::uint64_t& hash : hashes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  char name[40];
  std::snprintf(name, sizeof name, "%016lx%016lx", hashes[0], hashes[1]);
  return name;
}

/// A command's output, and whether it succeeded.
std::pair<bool, std::string> answer(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {false, "popen failed"};
  std::array<char, 4096> part;
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), read);
  return {pclose(pipe) == 0, text};
}

/// A temporary folder, removed at the end.
class Scratch {
public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanner-kernels-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder at " + pattern);
    path = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path path;
};

constexpr const char* flags = "-std=c++20 -O0 -w -fno-strict-aliasing -fvisibility=hidden -shared -fPIC";

void compile(const std::string& options, const std::filesystem::path& source,
             const std::filesystem::path& result) {
  const std::string folder = checkout.string();
  const auto [made, complaint] =
      answer(std::string("c++ ") + flags + " " + options + " -I'" + folder + "/tests' -I'" + folder +
             "/src' -I'" + folder + "/include' '" + source.string() + "' -o '" + result.string() + "'");
  if (made) return;
  const std::size_t error = complaint.find("error");
  throw std::runtime_error(
      complaint.substr(0, error == std::string::npos ? 400 : complaint.find('\n', error)));
}

/// Written to a temporary name and renamed, so that concurrent processes see all of it or nothing.
template<typename Make>
void make_once(const std::filesystem::path& file, const Make& make) {
  if (std::filesystem::exists(file)) return;
  static std::atomic<int> number{0};
  const std::filesystem::path fresh =
      file.string() + "." + std::to_string(getpid()) + "." + std::to_string(number++);
  make(fresh);
  std::filesystem::rename(fresh, file);
}

constexpr const char* first_line = "#include \"emulated_gpu/instructions.h\"\n";

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

void make_library(const std::string& text, const std::filesystem::path& library) {
  const Scratch scratch;
  write(scratch.path / "kernels.cpp", text);
  compile("-shared", scratch.path / "kernels.cpp", library);
}

void* open_library(const std::filesystem::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return library;
}

/// The first line of a source: a precompiled header, which takes most of a kernel's compile time.
std::string prepared_line(const std::string& headers, const std::filesystem::path& folder) {
  const std::filesystem::path header = folder / ("prelude_" + hash_of(headers + flags) + ".h");
  make_once(header, [](const std::filesystem::path& fresh) { write(fresh, first_line); });
  make_once(header.string() + ".gch",
            [&](const std::filesystem::path& fresh) { compile("-x c++-header", header, fresh); });
  return "#include \"" + header.string() + "\"\n";
}

void* kept_library(const std::string& text, const std::string& folder) {
  if (folder.empty()) {
    const Scratch scratch;
    make_library(first_line + text, scratch.path / "kernels.so");
    return open_library(scratch.path / "kernels.so");
  }
  std::filesystem::create_directories(folder);
  std::string headers;
  for (const char* header :
       {"tests/emulated_gpu/device.h", "tests/emulated_gpu/tensor_boxes.h",
        "tests/emulated_gpu/instructions.h", "src/tensor/float16.h"})
    headers += content_of(checkout / header);
  const std::filesystem::path kept =
      std::filesystem::path(folder) / (hash_of(text + flags + headers) + ".so");
  make_once(kept, [&](const std::filesystem::path& fresh) {
    make_library(prepared_line(headers, folder) + text, fresh);
  });
  return open_library(kept);
}

} // namespace

std::string host_source(std::string source) {
  static const std::regex dynamic(R"(extern __shared__ [^;]*?(\w+)\[\];)");
  source = std::regex_replace(source, dynamic, "unsigned char* const $1 = emulated::dynamic_memory;");
  const std::string word = "asm";
  for (std::size_t at = source.find(word); at != std::string::npos; at = source.find(word, at + 1)) {
    const std::size_t open = source.find('(', at);
    const std::string between = source.substr(at + word.size(), open - at - word.size());
    if (between != "" && between != " volatile") continue;
    const std::size_t end = end_of_parentheses(source, open);
    source.replace(at, end - at, call_of(source.substr(open, end - open)));
  }
  return source;
}

std::vector<std::string> kernel_names(const std::string& source) {
  static const std::regex kernel(R"(__global__ void (?:__launch_bounds__\([^)]*\)\s+)?(\w+)\()");
  std::vector<std::string> names;
  for (std::sregex_iterator i(source.begin(), source.end(), kernel), end; i != end; ++i)
    names.push_back((*i)[1]);
  return names;
}

HostLibrary compile_for_host(const std::vector<std::string>& sources, const std::string& folder) {
  void* library = kept_library(library_text(sources), folder);
  const auto kernels =
      reinterpret_cast<unsigned long (*)(Device*, unsigned long, const KernelRow**, unsigned char**)>(
          dlsym(library, "lanner_kernels"));
  if (!kernels) throw std::runtime_error(dlerror());
  HostLibrary made;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const KernelRow* rows = nullptr;
    const unsigned long count = kernels(&the_device(), i, &rows, &made.shared);
    made.kernels.emplace_back(rows, rows + count);
  }
  return made;
}

bool can_compile_for_host() {
  static const bool found = std::filesystem::exists(checkout / "tests/emulated_gpu/device.h") &&
                            answer("printf 'int x;\\n' | c++ -std=c++20 -x c++ -fsyntax-only -").first;
  return found;
}

} // namespace emulated
