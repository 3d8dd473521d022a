#include "graph/type/item_type.h"

namespace lanner {

Type type_of(const Item& item, const Type& declared) {
  if (item.is_sequence()) {
    const Type& element = declared.kind() == Type::Kind::sequence ? declared.element() : declared;
    if (item.items->empty()) return Type::sequence(element);
    Type common = type_of(item.items->front(), element);
    for (const Item& other : *item.items) {
      if (!(type_of(other, element) == common))
        return Type::sequence(Type::unranked(item.items->front().tensor.dtype()));
    }
    return Type::sequence(std::move(common));
  }
  if (item.absent) return declared;
  if (declared.kind() == Type::Kind::optional) return Type::optional(type_of(item, declared.element()));
  return Type(item.tensor.dtype(), item.tensor.shape());
}

} // namespace lanner
