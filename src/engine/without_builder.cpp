// Compiled into liblanner-runtime only; liblanner has builder/builder.cpp instead.

#include "engine/builder.h"

namespace lanner {

const Compiler* find_compiler() {
  return nullptr;
}

} // namespace lanner
