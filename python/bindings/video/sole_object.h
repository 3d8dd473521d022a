#pragma once
// Objects of the library's that Python owns, closes, and uses from one thread at a time.

#include <memory>

#include <lanner/error.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "video/sole_call.h"

namespace lanner::python {

/// Owns a `T` until it is closed. It is used and destroyed without the GIL: its source or output may be an
/// object of Python's, and its threads are joined.
template<typename T>
class SoleObject {
public:
  /// `noun`, and `closed_text` for errors after close(), are literals.
  SoleObject(std::unique_ptr<T> object, const char* noun, const char* closed_text)
      : calls_(noun), noun_(noun), closed_text_(closed_text), object_(std::move(object)) {}
  SoleObject(const SoleObject&) = delete;
  SoleObject& operator=(const SoleObject&) = delete;
  ~SoleObject() {
    const ReleasedGil released;
    object_.reset();
  }

  /// Calls `body(object)` without the GIL. Throws Error{invalid_argument} during another call or after
  /// close().
  template<typename Body>
  auto with(Body&& body) {
    const ReleasedGil released;
    return without_gil(body);
  }
  /// The same where the GIL is released already.
  template<typename Body>
  auto without_gil(Body&& body) {
    return call([&](std::unique_ptr<T>& object) {
      check(object != nullptr, ErrorCode::invalid_argument, "{}: {}", noun_, closed_text_);
      return body(*object);
    });
  }
  void close() {
    const ReleasedGil released;
    call([](std::unique_ptr<T>& object) { object.reset(); });
  }
  bool closed() {
    return call([](std::unique_ptr<T>& object) { return object == nullptr; });
  }

protected:
  /// Calls `body(owner)`, whose object is null once it was closed; the GIL stays as it is.
  template<typename Body>
  auto call(Body&& body) {
    const SoleCall::Call call(calls_);
    return body(object_);
  }

private:
  SoleCall calls_;
  const char *noun_, *closed_text_;
  std::unique_ptr<T> object_;
};

} // namespace lanner::python
