#pragma once
// The class behind lanner.Engine.

#include <memory>
#include <mutex>
#include <vector>

#include <lanner/engine.h>

#include "calls/bindings.h"

namespace lanner::python {

/// With internal contexts for `engine(...)`, so that threads may share it.
class PyEngine {
public:
  explicit PyEngine(Engine engine) : engine_(std::move(engine)), pool_(std::make_shared<Pool>()) {}
  const Engine& get() const { return engine_; }

  nb::dict call(nb::handle inputs, nb::handle stream, const nb::kwargs& others) const;

private:
  struct Pool {
    std::mutex mutex;
    std::vector<Context> idle;
  };
  Context take() const;
  void give(Context context) const;

  Engine engine_;
  std::shared_ptr<Pool> pool_;
};

} // namespace lanner::python
