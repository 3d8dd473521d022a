#include "backends/cpu/cpu_backend.h"

#include "backends/family.h"

namespace lanner {

#define LANNER_CPU_FAMILY(name) extern const KernelFamily name##_family;
#include "backends/families.inc"

const Backend& cpu_backend() {
  static const KernelFamily families[] = {
#define LANNER_CPU_FAMILY(name) name##_family,
#include "backends/families.inc"
  };
  static const FamilyBackend backend({.name = "cpu", .families = families});
  return backend;
}

} // namespace lanner
