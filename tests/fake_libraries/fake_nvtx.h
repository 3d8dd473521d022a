#pragma once
// NVTX's library: records ranges.

extern "C" {

/// A line for each range pushed, and `pop` for each popped, since the last fake_nvtx_forget(). Valid until
/// the next call of this function.
const char* fake_nvtx_log();
void fake_nvtx_forget();
}
