// Compiled into liblanner-runtime alone; liblanner has builder/builder.cpp in its place.

#include "engine/builder.h"

namespace lanner {

const Compiler* find_compiler() {
  return nullptr;
}

} // namespace lanner
