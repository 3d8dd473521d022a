// Compiled into liblanner-runtime only; liblanner has builder/builder.cpp instead.

#include "engine/builder.h"

namespace lanner {

const EngineBuilder* find_builder() {
  return nullptr;
}

} // namespace lanner
