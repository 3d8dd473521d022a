#include "base/limits/heap.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace lanner {

void give_back_freed_memory() noexcept {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

} // namespace lanner
