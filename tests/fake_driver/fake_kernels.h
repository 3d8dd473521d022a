#pragma once
// Modules, functions and launches of the fake driver.

#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "emulated_gpu/block_runner.h"
#include "emulated_gpu/host_source.h"
#include "fake_driver/fake_queues.h"

namespace lanner::fake {

/// A fatbin embedded in the library, or a source "compiled" by the fake NVRTC.
struct Module {
  int device;
  std::string source;                           ///< Empty: a fatbin.
  std::mutex mutex;                             ///< Guards the members below.
  std::optional<emulated::HostLibrary> library; ///< Of the source, once one of its kernels was launched.
  std::deque<struct Function> functions;
};

struct Function {
  std::string name;
  Module* module;
  const emulated::KernelRow* row = nullptr; ///< Null: its module's source is not compiled yet.
};

/// Never destroyed.
Module* load_module(const void* image, int device);

/// Null where the module has no kernel of this name.
Function* find_function(Module& module, const char* name);

/// `work` runs the kernel with a copy of the arguments. Returns the driver's status.
int bind_launch(Function& function, const emulated::Launch& launch, void** arguments, Work& work);

} // namespace lanner::fake
