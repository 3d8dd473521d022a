// Images as inputs on the fake driver.

#include <utility>

#include <gtest/gtest.h>

#include "engine/small_models.h"
#include "fake_driver/fake_gpu.h"
#include "image/copied_to.h"
#include "image/reference.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

/// Images of 20 x 16, rotated by a kernel that the fake driver runs.
Engine engine_on(Device device, const Preprocess& spec, bool deterministic = false) {
  const std::string file = model(
      graph({.nodes = {node(
                 {"Transpose", {"x"}, {"y"}, {attribute("perm", std::vector<std::int64_t>{3, 1, 0, 2})}})},
             .inputs = {value("x", f32, {"N", "3", "16", "20"})},
             .outputs = {value("y", f32, {"20", "3", "N", "16"})}}));
  BuildOptions options = plain_options(device);
  options.images["x"].preprocess = spec;
  options.deterministic = deterministic;
  return built(file, options);
}

Preprocess spec_of(Resize resize) {
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = 20, spec.height = 16;
  spec.fit = Fit::letterbox;
  spec.resize = resize;
  return spec;
}

std::vector<float> run(Context& context, std::span<const Image> images) {
  context.bind("x", images);
  context.run();
  return numbers(context.output("y").tensor);
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 0.001) << i;
}

class FakePictures : public GpuKernelTest {};

TEST_F(FakePictures, on_host_and_gpu_give_the_results_of_a_cpu) {
  const std::vector<Image> here{random_image(PixelFormat::nv12, 53, 37, 1),
                                random_image(PixelFormat::p010, 11, 90, 2),
                                random_image(PixelFormat::rgb24, 300, 7, 3)};
  std::vector<Image> there, mixed;
  for (const Image& image : here) there.push_back(copied_to(gpu_device, image));
  mixed = {here[0], there[1], here[2]};
  for (const Resize resize : {Resize::bilinear, Resize::antialias, Resize::nearest}) {
    const Engine host = engine_on({}, spec_of(resize)), gpu = engine_on(gpu_device, spec_of(resize));
    Context context = host.create_context(), far = gpu.create_context(), other = gpu.create_context();
    const std::vector<float> want = run(context, here);
    for (const std::vector<Image>* images : {&std::as_const(there), &here, &std::as_const(mixed)}) {
      expect_near(run(far, *images), want);
      expect_near(run(other, *images), want);
    }
  }
}

/// Only the descriptor is uploaded, and the recorded graph is replayed whatever the image's size.
void expect_all_there(const Engine& engine) {
  Context context = engine.create_context();
  for (int number = 0; number < 8; ++number) {
    const Image image =
        copied_to(gpu_device, random_image(PixelFormat::nv12, 40 + 2 * number, 30 + number, 1));
    fake_cuda_forget();
    context.bind("x", std::vector<Image>{image});
    context.run();
    const std::string log = fake_cuda_log();
    EXPECT_EQ(count(log, "cuMemcpyDtoH"), 0u) << log;
    EXPECT_EQ(count(log, "cuMemcpy"), 1u) << log;
    if (number < 3) continue;
    EXPECT_EQ(count(log, "cuGraphLaunch"), 1u) << log;
    EXPECT_EQ(count(log, "cuLaunchKernel") + count(log, "cuMemAlloc") + count(log, "Capture"), 0u) << log;
  }
}

TEST_F(FakePictures, on_the_gpu_are_never_copied_to_the_host) {
  expect_all_there(engine_on(gpu_device, spec_of(Resize::bilinear)));
  expect_all_there(engine_on(gpu_device, spec_of(Resize::bilinear), true));
}

TEST_F(FakePictures, run_again_after_a_call_that_failed) {
  const std::vector<Image> images{random_image(PixelFormat::nv12, 53, 37, 1)};
  const Engine host = engine_on({}, spec_of(Resize::area)),
               gpu = engine_on(gpu_device, spec_of(Resize::area));
  Context context = host.create_context();
  const std::vector<float> want = run(context, images);
  for (std::size_t number = 1; number < 12; ++number) {
    Context far = gpu.create_context();
    fails(number, launch_failed, [&] { static_cast<void>(run(far, images)); });
    expect_near(run(far, images), want);
  }
}

} // namespace
} // namespace lanner::test
