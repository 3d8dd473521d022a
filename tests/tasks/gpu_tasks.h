#pragma once
// Reads outputs on a GPU and on the host, and compares.

#include <cstring>

#include "device/cuda/driver.h"
#include "tasks/cuda/work_queue.h"
#include "tasks/task_run.h"

namespace lanner::test {

inline constexpr Device gpu{DeviceKind::cuda, 0};
inline constexpr DType reals[] = {DType::f32, DType::f16, DType::bf16};

/// Skipped with the reason where there is no GPU; on the fake driver the kernels' source runs on the host.
class CudaTasks : public testing::Test {
protected:
  void SetUp() override {
    const cuda::DriverStatus& status = cuda::driver_status();
    if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
    if (!tasks::cuda::has_kernels()) GTEST_SKIP() << "built without nvcc or without .cu files";
  }
};

inline ::testing::AssertionResult same(const char* what, const Tensor& got, const Tensor& expected) {
  if (got.defined() != expected.defined()) return ::testing::AssertionFailure() << what << ": one has none";
  if (!got.defined()) return ::testing::AssertionSuccess();
  if (got.shape() != expected.shape())
    return ::testing::AssertionFailure()
           << what << ": " << got.shape().to_string() << ", expected " << expected.shape().to_string();
  const auto* const a = static_cast<const std::uint8_t*>(got.data());
  const auto* const b = static_cast<const std::uint8_t*>(expected.data());
  std::uint64_t differ = 0;
  for (std::uint64_t i = 0; i < expected.bytes(); ++i) differ += a[i] != b[i];
  if (differ == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << what << ": " << differ << " of " << expected.bytes() << " bytes";
}

inline void expect_same(const TaskResult& got, const TaskResult& expected) {
  EXPECT_TRUE(same("labels", got.labels, expected.labels));
  EXPECT_TRUE(same("scores", got.scores, expected.scores));
  EXPECT_TRUE(same("boxes", got.boxes, expected.boxes));
  EXPECT_TRUE(same("rotated", got.rotated, expected.rotated));
  EXPECT_TRUE(same("keypoints", got.keypoints, expected.keypoints));
  EXPECT_TRUE(same("classes", got.classes, expected.classes));
  EXPECT_TRUE(same("depth", got.depth, expected.depth));
  ASSERT_EQ(got.masks.size(), expected.masks.size());
  for (std::size_t i = 0; i < got.masks.size(); ++i) {
    EXPECT_EQ(got.masks[i].place, expected.masks[i].place);
    EXPECT_TRUE(same("mask", got.masks[i].inside, expected.masks[i].inside)) << i;
  }
  ASSERT_EQ(got.image.width, expected.image.width);
  ASSERT_EQ(got.image.height, expected.image.height);
  for (std::int32_t y = 0; y < got.image.height; ++y)
    ASSERT_EQ(std::memcmp(got.image.planes[0].data + y * got.image.planes[0].pitch,
                          expected.image.planes[0].data + y * expected.image.planes[0].pitch,
                          static_cast<std::size_t>(got.image.width) * 3),
              0)
        << "row " << y;
}

inline tasks::Outputs there(const tasks::Outputs& outputs) {
  tasks::Outputs all;
  for (const auto& [name, tensor] : outputs) all[name] = tensor.to(gpu);
  return all;
}

struct Picture {
  std::int32_t width = 40, height = 30;
  std::int64_t element = 0;
};

inline TaskResult result_of(const Task& task, const tasks::Outputs& outputs, const Preprocess& spec,
                            const Picture& picture) {
  return tasks::read_result(task, spec, outputs, picture.width, picture.height, picture.element, {});
}

/// Reads outputs on both sides; returns the number of detections.
inline std::int64_t expect_same_reading(const Task& given, const tasks::Outputs& outputs,
                                        const Preprocess& spec, const Picture& picture = {}) {
  const Task task = resolved(given, outputs, spec).task;
  const tasks::Outputs remote = there(outputs);
  std::string expected_error;
  TaskResult expected;
  try {
    expected = result_of(task, outputs, spec, picture);
  } catch (const Error& error) {
    expected_error = error.message();
  }
  try {
    const TaskResult got = result_of(task, remote, spec, picture);
    EXPECT_EQ(expected_error, "");
    if (expected_error.empty()) expect_same(got, expected);
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), expected_error);
  }
  return expected_error.empty() ? expected.count() : -1;
}

} // namespace lanner::test
