#include "backends/onednn/imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>

namespace lanner::onednn {

namespace {

/// The entries of a dynamic section (System V ABI, chapter 5) about imports.
struct Tables {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * calls = nullptr, *others = nullptr;
  std::size_t calls_bytes = 0, others_bytes = 0;

  explicit Tables(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) read(*entry);
  }

private:
  // The loader has replaced file offsets by memory addresses, on the architectures that Debian's oneDNN is
  // built for.
  void read(const ElfW(Dyn) & entry) {
    const auto address = entry.d_un.d_ptr;
    switch (entry.d_tag) {
    case DT_STRTAB:
      strings = reinterpret_cast<const char*>(address);
      break;
    case DT_SYMTAB:
      symbols = reinterpret_cast<const ElfW(Sym)*>(address);
      break;
    case DT_JMPREL:
      calls = reinterpret_cast<const ElfW(Rela)*>(address);
      break;
    case DT_PLTRELSZ:
      calls_bytes = entry.d_un.d_val;
      break;
    case DT_RELA:
      others = reinterpret_cast<const ElfW(Rela)*>(address);
      break;
    case DT_RELASZ:
      others_bytes = entry.d_un.d_val;
      break;
    default:
      break;
    }
  }
};

std::size_t symbol_of(const ElfW(Rela) & relocation) {
  return sizeof(void*) == 8 ? static_cast<std::size_t>(relocation.r_info >> 32U)
                            : static_cast<std::size_t>(relocation.r_info >> 8U);
}

} // namespace

std::vector<Import> imports_of(const void* function_of_it, const std::vector<std::string>& prefixes) {
  std::vector<Import> found;
  Dl_info info{};
  link_map* library = nullptr;
  if (!::dladdr1(function_of_it, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) || !library)
    return found;
  const Tables tables(library->l_ld);
  if (!tables.strings || !tables.symbols) return found;
  const auto scan = [&](const ElfW(Rela) * relocations, std::size_t bytes) {
    for (std::size_t i = 0; relocations && i < bytes / sizeof *relocations; ++i) {
      const ElfW(Sym)& symbol = tables.symbols[symbol_of(relocations[i])];
      if (symbol_of(relocations[i]) == 0 || symbol.st_shndx != SHN_UNDEF) continue;
      const std::string name = tables.strings + symbol.st_name;
      if (std::ranges::none_of(prefixes, [&](const auto& prefix) { return name.starts_with(prefix); }))
        continue;
      const auto* slot = reinterpret_cast<const void* const*>(library->l_addr + relocations[i].r_offset);
      found.push_back({name, *slot});
    }
  };
  scan(tables.calls, tables.calls_bytes);
  scan(tables.others, tables.others_bytes);
  return found;
}

} // namespace lanner::onednn
