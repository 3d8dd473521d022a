#include "graph/type/merge_types.h"

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

[[noreturn]] static void contradict(const Type& inferred, const Type& declared) {
  fail(ErrorCode::invalid_argument, "the value is declared {} but inferred {}", declared.to_string(),
       inferred.to_string());
}

static Dim merge_dims(const Dim& inferred, const Dim& declared, const Symbols& symbols,
                      const std::set<std::string>& fresh, bool& fits) {
  if (inferred == declared) return inferred;
  const auto exact = inferred.constant(), said = declared.constant();
  if (exact && said) fits = false;
  if (exact) return inferred;
  if (said) {
    const SymbolInfo range = inferred.bounds(symbols);
    if (*said < range.min || *said > range.max) fits = false;
    return declared;
  }
  const std::optional<std::string> symbol = inferred.as_symbol();
  return symbol && fresh.contains(*symbol) ? declared : inferred;
}

Type merge_types(const Type& inferred, const Type& declared, const Symbols& symbols,
                 const std::set<std::string>& fresh) {
  if (declared == Type{}) return inferred;
  if (inferred.kind() != declared.kind()) contradict(inferred, declared);
  if (!inferred.is_tensor()) {
    Type element = merge_types(inferred.element(), declared.element(), symbols, fresh);
    return inferred.kind() == Type::Kind::sequence ? Type::sequence(std::move(element))
                                                   : Type::optional(std::move(element));
  }
  if (inferred.dtype() != declared.dtype()) contradict(inferred, declared);
  if (!inferred.ranked()) return declared;
  if (!declared.ranked()) return inferred;
  if (inferred.rank() != declared.rank()) contradict(inferred, declared);
  Dims dims;
  bool fits = true;
  for (std::size_t i = 0; i < inferred.rank(); ++i)
    dims.push_back(merge_dims(inferred.dims()[i], declared.dims()[i], symbols, fresh, fits));
  if (!fits) contradict(inferred, declared);
  return Type(inferred.dtype(), std::move(dims));
}

} // namespace lanner
