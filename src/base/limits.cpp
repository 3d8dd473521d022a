#include <lanner/limits.h>

#include <lanner/error.h>

namespace lanner {

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, std::uint64_t bound, std::string_view what) {
  std::uint64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &product);
  check(!overflow && product <= bound, ErrorCode::limit_exceeded,
        "{}: {} x {} passes the limit of {}; raise the limit if the input is trusted", what, a, b, bound);
  return product;
}

} // namespace lanner
