#include "engine/builder.h"

#include "base/check.h"

namespace lanner {

const Compiler& compiler_for(std::string_view asked, std::string_view remedy) {
  const Compiler* compiler = find_compiler();
  check(compiler != nullptr, ErrorCode::unsupported,
        "{} needs the compiler, which this library (liblanner-runtime) does not contain; {}", asked, remedy);
  return *compiler;
}

} // namespace lanner
