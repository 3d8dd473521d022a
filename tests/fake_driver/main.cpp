// Tests on the fake driver, which must be selected before anything opens the real one, without cuDNN,
// cuBLASLt and NVRTC: kernels come from .cu files.

#include <cstdlib>

#include <gtest/gtest.h>

int main(int count, char** arguments) {
  ::setenv("LANNER_CUDA_DRIVER", LANNER_FAKE_DRIVER, 1);
  ::setenv("LANNER_LIBRARY_PATH", LANNER_NO_LIBRARIES, 1);
  ::setenv("LANNER_FAKE_GPUS", "3", 1);
  ::unsetenv("LANNER_CACHE_DIR");
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
