// Kernels are shared by contexts: several threads launch one concurrently, each with its own buffers.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "backends/backends.h"
#include "backends/tactic_check.h"

namespace lanner {
namespace {

/// Buffers for one more caller of `ready`'s kernel.
struct Launcher {
  explicit Launcher(ReadyTactic& ready) : kernel(*ready.kernel) {
    for (const Tensor& input : ready.inputs) inputs.push_back(input.data());
    for (const Tensor& output : ready.outputs) {
      outputs.push_back(Tensor::zeros(output.dtype(), output.shape(), output.layout()));
      pointers.push_back(outputs.back().data());
    }
    workspace = Tensor::allocate(DType::u8, Shape{static_cast<std::int64_t>(kernel.workspace())});
  }
  void launch() { kernel.launch({inputs, pointers, workspace.data(), {}}); }

  const Kernel& kernel;
  std::vector<const void*> inputs;
  std::vector<Tensor> outputs;
  std::vector<void*> pointers;
  Tensor workspace;
};

class Sharing : public testing::TestWithParam<const char*> {};

TEST_P(Sharing, launches_do_not_disturb_each_other) {
  const NodeCase node_case = make_case(GetParam());
  Target target;
  target.threads = 2;
  for (const Backend* backend : backends_for(target))
    for (const Tactic& tactic : backend->tactics(*node_case.node, target).tactics) {
      if (tactic.required_in_place) continue;
      ReadyTactic ready = make_ready(node_case, *backend, tactic, target);
      ready.launch();
      std::atomic<int> wrong{0};
      const auto work = [&] {
        Launcher own(ready);
        for (int i = 0; i < 20; ++i) {
          std::memset(own.pointers[0], 0, own.outputs[0].bytes());
          own.launch();
          wrong += std::memcmp(own.pointers[0], ready.outputs[0].data(), own.outputs[0].bytes()) != 0;
        }
      };
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) threads.emplace_back(work);
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(wrong, 0) << backend->name() << "/" << tactic.kernel;
    }
}

INSTANTIATE_TEST_SUITE_P(
    kernels, Sharing,
    testing::Values(
        "graph @g(%x: f32[1, 32, 9, 9]) -> (%y: f32[*] as \"y\") {\n"
        "%w: f32[48, 32, 3, 3] = constant() {value = random(f32[48, 32, 3, 3], seed = 5, std = 0.3)}\n"
        "%y: f32[*] = conv(%x, %w, _) {pads = [1, 1, 1, 1]}\n}",
        "graph @g(%x: f32[8, 256]) -> (%y: f32[*] as \"y\") {\n"
        "%w: f32[256, 256] = constant() {value = random(f32[256, 256], seed = 5, std = 0.3)}\n"
        "%y: f32[*] = matmul(%x, %w)\n}",
        "graph @g(%x: f32[4, 20, 30, 30]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = sigmoid(%x)\n}",
        "graph @g(%x: f32[4, 20, 30, 30]) -> (%y: f32[*] as \"y\") {\n"
        "%y: f32[*] = transpose(%x) {perm = [0, 2, 3, 1]}\n}"));

} // namespace
} // namespace lanner
