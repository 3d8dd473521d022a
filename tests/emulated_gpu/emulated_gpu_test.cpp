// The emulated device: what it computes, and what it rejects.

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "emulated_gpu/block_runner.h"
#include "emulated_gpu/host_source.h"

namespace emulated {
namespace {

/// Kernels for these tests, as NVRTC would get them.
constexpr const char* source = R"(
extern "C" __global__ void __launch_bounds__(256) places(unsigned* out) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = 1000 * block + thread;
}
extern "C" __global__ void turned(const int* x, int* y) {
  __shared__ int held[256];
  held[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void turned_without_barrier(const int* x, int* y) {
  __shared__ int held[256];
  held[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void warp_sums(const int* x, int* y) {
  int sum = x[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const unsigned odd = __ballot_sync(0xffffffffu, x[threadIdx.x] % 2 != 0);
  y[threadIdx.x] = sum + 1000 * __popc(odd);
}
extern "C" __global__ void half_a_warp(const int* x, int* y) {
  y[threadIdx.x] = threadIdx.x < 16 ? __shfl_down_sync(0xffffffffu, x[threadIdx.x], 1) : 0;
}
extern "C" __global__ void masked(const int* x, int* y) {
  y[threadIdx.x] = __shfl_up_sync(0x0000ffffu, x[threadIdx.x], 1);
}
extern "C" __global__ void early_end(const int* x, int* y) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
extern "C" __global__ void count(int* total) { atomicAdd(total, 1); }
extern "C" __global__ void launched_memory(unsigned* out) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  out[threadIdx.x] = bytes[threadIdx.x];
  bytes[threadIdx.x] = 7;
}
)";

class EmulatedGpu : public testing::Test {
protected:
  void SetUp() override {
    if (!can_compile_for_host()) GTEST_SKIP() << "no C++ compiler c++, or no checkout, to run kernels by";
  }
  static const HostLibrary& library() {
    static const HostLibrary made = compile_for_host({source}, LANNER_HOST_KERNELS);
    return made;
  }
  /// The error of the kernel; empty where there is none.
  template<typename... Arguments>
  std::string run(std::string_view name, Launch launch, Arguments... arguments) {
    for (const KernelRow& row : library().kernels.at(0)) {
      if (row.name != name) continue;
      void* list[] = {&arguments...};
      alignas(64) unsigned char kept[256];
      row.keep(list, kept);
      launch.shared = library().shared;
      return run_blocks(launch, [&] { row.call(kept); });
    }
    return "there is no such kernel";
  }
  static std::vector<int> numbers() {
    std::vector<int> x;
    for (int i = 0; i < 256; ++i) x.push_back(i * 37 % 101);
    return x;
  }
  static Launch threads(unsigned count, bool reversed = false) {
    Launch launch;
    launch.threads.x = count;
    launch.reversed = reversed;
    return launch;
  }
};

TEST_F(EmulatedGpu, ThreadsAndBlocksHaveThreeDimensions) {
  Launch launch;
  launch.blocks = {3, 2, 2};
  launch.threads = {8, 4, 2};
  for (const bool reversed : {false, true}) {
    launch.reversed = reversed;
    std::vector<unsigned> out(12 * 64);
    ASSERT_EQ(run("places", launch, out.data()), "");
    for (unsigned i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i / 64 * 1000 + i % 64);
  }
}

TEST_F(EmulatedGpu, OnlyBarriersOrderThreads) {
  std::vector<int> x = numbers();
  for (const bool reversed : {false, true}) {
    for (int& value : x) ++value; // Shared memory keeps the values of an earlier run.
    const std::vector<int> right(x.rbegin(), x.rend());
    std::vector<int> y(256);
    ASSERT_EQ(run("turned", threads(256, reversed), x.data(), y.data()), "");
    EXPECT_EQ(y, right);
    std::vector<int> racing(256);
    ASSERT_EQ(run("turned_without_barrier", threads(256, reversed), x.data(), racing.data()), "");
    EXPECT_NE(racing, right);
  }
}

TEST_F(EmulatedGpu, WarpsExchangeValuesAndVote) {
  const std::vector<int> x = numbers();
  for (const bool reversed : {false, true}) {
    std::vector<int> y(256);
    ASSERT_EQ(run("warp_sums", threads(256, reversed), x.data(), y.data()), "");
    for (unsigned i = 0; i < 256; ++i) {
      int sum = 0;
      for (unsigned k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) sum += x[k] + 1000 * (x[k] % 2 != 0);
      EXPECT_EQ(y[i], sum) << i;
    }
  }
}

TEST_F(EmulatedGpu, DisallowedOperationsAreReported) {
  const std::vector<int> x = numbers();
  std::vector<int> y(256);
  EXPECT_EQ(run("half_a_warp", threads(32), x.data(), y.data()), "deadlock: threads wait for each other");
  EXPECT_EQ(run("masked", threads(32), x.data(), y.data()), "an exchange of a part of a warp");
  EXPECT_EQ(run("turned", threads(2000), x.data(), y.data()), "a block with too many threads, or none");
  EXPECT_EQ(run("turned", threads(256), x.data(), y.data()), "") << "an abandoned block has no later effect";
}

TEST_F(EmulatedGpu, ThreadsThatEndedAreNotWaitedForAtABarrier) {
  const std::vector<int> x = numbers();
  std::vector<int> y(256);
  ASSERT_EQ(run("early_end", threads(64), x.data(), y.data()), "");
  EXPECT_EQ(y[39], x[39] + 1);
  EXPECT_EQ(y[40], 0);
}

TEST_F(EmulatedGpu, AtomicsCountEveryThread) {
  Launch launch = threads(100);
  launch.blocks.x = 7;
  int total = 0;
  ASSERT_EQ(run("count", launch, &total), "");
  EXPECT_EQ(total, 700);
}

TEST_F(EmulatedGpu, SharedMemoryOfEachBlockStartsUnfilled) {
  Launch launch = threads(32);
  launch.blocks.x = 2;
  launch.shared_bytes = 32;
  std::vector<unsigned> out(32);
  ASSERT_EQ(run("launched_memory", launch, out.data()), "");
  EXPECT_EQ(out, std::vector<unsigned>(32, 0xff));
}

TEST(HostSource, InstructionsBecomeCalls) {
  EXPECT_EQ(host_source(R"(asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));)"),
            R"(emulated::cvt_f32_f16("cvt.f32.f16 %0, %1;" , (y) , (x.bits));)");
  EXPECT_EQ(host_source(R"(asm volatile("cp.async.commit_group;" ::: "memory");)"),
            R"(emulated::cp_async_commit_group("cp.async.commit_group;" );)");
}

TEST(HostSource, ListsItsKernels) {
  EXPECT_EQ(
      kernel_names("__global__ void a(int) {} extern \"C\" __global__ void __launch_bounds__(256) b(int) {}"),
      (std::vector<std::string>{"a", "b"}));
}

TEST_F(EmulatedGpu, CompileErrorsContainTheCompilersMessage) {
  try {
    compile_for_host({"extern \"C\" __global__ void f(int* x) { *x = unheard_of; }"}, "");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("unheard_of"), std::string::npos) << error.what();
  }
  EXPECT_THROW(compile_for_host(
                   {"extern \"C\" __global__ void f(float* x) { asm(\"frob.f32 %0;\" : \"+f\"(*x)); }"}, ""),
               std::runtime_error)
      << "an instruction missing in instructions.h";
}

} // namespace
} // namespace emulated
