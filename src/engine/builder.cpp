#include "engine/builder.h"

#include "base/check.h"

namespace lanner {

const EngineBuilder& builder_for(std::string_view asked, std::string_view remedy) {
  const EngineBuilder* builder = find_builder();
  check(builder != nullptr, ErrorCode::unsupported,
        "{} needs the builder, which this library (liblanner-runtime) does not contain; {}", asked, remedy);
  return *builder;
}

} // namespace lanner
