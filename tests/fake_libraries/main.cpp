// Tests on the fake driver and the fake libraries, which must be selected before anything opens real ones.

#include <cstdlib>

#include <gtest/gtest.h>

int main(int count, char** arguments) {
  ::setenv("LANNER_CUDA_DRIVER", LANNER_FAKE_DRIVER, 1);
  ::setenv("LANNER_LIBRARY_PATH", LANNER_FAKE_LIBRARIES, 1);
  for (const char* folder : {"LANNER_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
    ::unsetenv(folder); // nothing is cached between runs
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
