// Compiled into liblanner-runtime alone; liblanner has compiler/compiler.cpp in its place.

#include "engine/compiler.h"

namespace lanner {

const Compiler* find_compiler() {
  return nullptr;
}

} // namespace lanner
