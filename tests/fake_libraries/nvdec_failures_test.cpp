// The GPU decoder when calls fail.

#include <algorithm>

#include "expect_error.h"
#include "fake_libraries/nvdec_clip.h"

namespace lanner::test {
namespace {

using fake::Picture;

constexpr int not_supported = 801;

/// A clip that uses most calls: two sizes, a session from the cache.
void everything(bool to_host) {
  Picture large, small;
  large.width = 160, large.held = 1;
  small.width = 96;
  DecoderOptions options;
  if (to_host) options.output = Device{};
  auto decoder = fake_decoder(large, options, "h264");
  auto pictures = sequence(7, large);
  for (const Picture& picture : sequence(7, small)) pictures.push_back(picture);
  const auto frames = decode(*decoder, pictures);
  EXPECT_EQ(frames.size(), 14u);
  for (const Frame& frame : frames) expect_picture(frame, pictures[static_cast<std::size_t>(frame.pts)]);
}

using Fail = void (*)(std::size_t number, int status);
using Calls = std::size_t (*)();

class FailingCall : public FakeNvdec, public testing::WithParamInterface<std::tuple<bool, int, bool>> {};

TEST_P(FailingCall, is_one_error_and_nothing_leaks) {
  const auto [in_driver, status, to_host] = GetParam();
  const Fail fail_call = in_driver ? fake_cuda_fail : fake_nvcuvid_fail;
  const Calls calls_so_far = in_driver ? fake_cuda_calls : fake_nvcuvid_calls;
  const auto work = [to_host = to_host] { everything(to_host); };
  work();
  forget_sessions();
  const std::size_t memory = fake_cuda_memory(), objects = fake_cuda_objects(), before = calls_so_far();
  work();
  const std::size_t calls = calls_so_far() - before;
  ASSERT_GT(calls, 20u);
  std::size_t unseen = 0;
  for (std::size_t number = 1; number <= calls; ++number) {
    forget_sessions();
    fake_nvcuvid_forget();
    unseen += !fails(number, status, work, fail_call);
    work();
    forget_sessions();
    EXPECT_EQ(fake_cuda_memory(), memory) << "call " << number << " of " << calls;
    EXPECT_EQ(fake_cuda_objects(), objects) << "call " << number;
    EXPECT_EQ(fake_nvcuvid_sessions(), 0) << "call " << number;
    EXPECT_EQ(fake_nvcuvid_parsers(), 0) << "call " << number;
    EXPECT_EQ(fake_nvcuvid_mapped(), 0) << "call " << number;
  }
  EXPECT_EQ(unseen, 0u);
}

INSTANTIATE_TEST_SUITE_P(calls, FailingCall,
                         testing::Combine(testing::Bool(), testing::Values(out_of_memory, not_supported),
                                          testing::Bool()));

TEST_F(FakeNvdec, idle_sessions_are_freed_for_a_new_one) {
  Picture like;
  decode(*fake_decoder(like), sequence(3, like));
  EXPECT_EQ(fake_nvcuvid_sessions(), 1);
  Picture other;
  other.width = 256;
  auto decoder = fake_decoder(other);
  fake_nvcuvid_forget();
  // Parser and two packets: the fourth call creates the session.
  fake_nvcuvid_fail(4, out_of_memory);
  EXPECT_EQ(decode(*decoder, sequence(3, other)).size(), 3u);
  EXPECT_EQ(count(fake_nvcuvid_log(), "cuvidCreateDecoder"), 2u);
  EXPECT_EQ(fake_nvcuvid_sessions(), 1);
}

} // namespace
} // namespace lanner::test
