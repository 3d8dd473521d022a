// Operators with data-dependent sizes on a GPU, against the definitions.

#include <string>
#include <thread>

#include "fake_driver/fake_gpu.h"
#include "fake_libraries/fake_libraries.h"
#include "run/found_elements.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

class GpuFoundElements : public GpuKernelTest {};

TEST_F(GpuFoundElements, AgreeWithTheDefinitions) {
  expect_all_found(gpu_device, true);
}

TEST_F(GpuFoundElements, AnyOrderThatStreamsAllowIsRight) {
  for (unsigned seed = 1; seed < 6; ++seed) {
    fake_cuda_defer(seed);
    expect_found(engine_of(places_text, 1, gpu_device), elements(7), gpu_device);
    expect_found(engine_of(kept_text, 1, gpu_device), boxes(20, 0.3F, 0.25F), gpu_device);
    fake_cuda_defer(0);
  }
}

/// A run like the last one brings `copies` to the host, allocates nothing, and leaves results on the GPU.
void expect_copies(const Engine& engine, const std::vector<Item>& inputs, std::size_t copies) {
  Context context = engine.create_context();
  for (const auto& [name, item] : named(engine, inputs))
    context.bind(name, item.tensor.rank() > 0 ? Item(item.tensor.to(gpu_device)) : item);
  context.run();
  context.run();
  const std::size_t memory = fake_cuda_memory();
  fake_cuda_forget();
  context.run();
  const std::string log = fake_cuda_log();
  EXPECT_EQ(count(log, "cuMemcpyDtoHAsync"), copies) << log;
  EXPECT_EQ(fake_cuda_memory(), memory);
  for (const auto& output : engine.outputs())
    EXPECT_EQ(context.output(output.name).tensor.device(), gpu_device) << output.name;
}

TEST_F(GpuFoundElements, OnlyCountsComeToTheHost) {
  expect_copies(engine_of(places_text, 1, gpu_device), elements(7), 3);
  // And thresholds, which are inputs here.
  expect_copies(engine_of(kept_text, 1, gpu_device), boxes(20, 0.3F, 0.25F), 6);
}

TEST_F(GpuFoundElements, DeterministicBuildsFindThemOnTheGpuToo) {
  expect_copies(engine_of(places_text, 1, gpu_device, true), elements(7), 3);
  expect_copies(engine_of(kept_text, 1, gpu_device, true), boxes(20, 0.3F, 0.25F), 6);
}

TEST_F(GpuFoundElements, ContextsAreIndependent) {
  const Engine engine = engine_of(places_text, 1, gpu_device);
  std::jthread beside([&] { expect_found(engine, elements(3), gpu_device); });
  expect_found(engine, elements(1000), gpu_device);
}

} // namespace
} // namespace lanner::test
