// Reading outputs on the fake driver: memory, order, and failing calls.

#include "device/cuda/gpu.h"
#include "fake_driver/fake_gpu.h"
#include "tasks/task_run.h"

namespace lanner::test {
namespace {

/// A segmentation network whose outputs are large enough to stay on the GPU.
class FakeTasks : public GpuKernelTest {
protected:
  void SetUp() override {
    GpuKernelTest::SetUp();
    Draw draw(1);
    Tensor boxes = draw.tensor({1, 37, 2100}, 0, 1);
    for (std::size_t i = 0; i < 4 * 2100; ++i) boxes.as<float>()[i] *= 320;
    for (std::size_t i = 4 * 2100; i < 5 * 2100; ++i) boxes.as<float>()[i] *= 0.26f;
    here = {{"o", boxes}, {"p", draw.tensor({1, 32, 80, 80}, -1, 1)}};
    for (const auto& [name, tensor] : here) outputs[name] = tensor.to(gpu_device);
    Task given = task_of(TaskKind::segment, Head::yolo_v8);
    given.labels = {"thing"};
    task = resolved(given, here, spec).task;
  }
  TaskResult read_from(const tasks::Outputs& from) const {
    return tasks::read_result(task, spec, from, 64, 48, 0, {});
  }

  Preprocess spec = input_of(320, 320);
  Task task;
  tasks::Outputs here, outputs;
};

TEST_F(FakeTasks, TheSecondImageAllocatesNothing) {
  const TaskResult expected = read_from(here);
  ASSERT_GT(expected.count(), 3);
  EXPECT_EQ(read_from(outputs).count(), expected.count());
  const std::size_t memory = fake_cuda_memory(), objects = fake_cuda_objects();
  fake_cuda_forget();
  EXPECT_EQ(read_from(outputs).count(), expected.count());
  EXPECT_EQ(fake_cuda_memory(), memory);
  EXPECT_EQ(fake_cuda_objects(), objects);
  const std::string log = fake_cuda_log();
  EXPECT_EQ(log.find("Alloc"), std::string::npos) << log;
  std::size_t waits = 0;
  for (std::size_t at = log.find("cuStreamSynchronize"); at != std::string::npos;
       at = log.find("cuStreamSynchronize", at + 1))
    ++waits;
  EXPECT_EQ(waits, 2u) << log; // For rows, and for masks.
}

TEST_F(FakeTasks, WorkInAnyOrderThatStreamsAllow) {
  const TaskResult expected = read_from(here);
  for (unsigned seed = 1; seed < 6; ++seed) {
    fake_cuda_defer(seed);
    const TaskResult got = read_from(outputs);
    ASSERT_EQ(got.count(), expected.count());
    for (std::size_t i = 0; i < expected.masks.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(got.masks[i].inside.as<std::uint8_t>(),
                                     expected.masks[i].inside.as<std::uint8_t>()));
  }
}

TEST_F(FakeTasks, EachCallMayFail) {
  const TaskResult expected = read_from(outputs);
  const std::size_t memory = fake_cuda_memory(), objects = fake_cuda_objects();
  for (const int status : {launch_failed, out_of_memory})
    for (std::size_t number = 1;; ++number) {
      const bool failed = fails(number, status, [&] { read_from(outputs); });
      EXPECT_EQ(read_from(outputs).count(), expected.count()) << number;
      EXPECT_EQ(fake_cuda_contexts(), 0);
      if (!failed) break;
      ASSERT_LT(number, 100u);
    }
  EXPECT_EQ(fake_cuda_memory(), memory);
  EXPECT_EQ(fake_cuda_objects(), objects);
}

} // namespace
} // namespace lanner::test
