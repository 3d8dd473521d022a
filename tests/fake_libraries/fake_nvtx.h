#pragma once
// NVTX's library: keeps what ranges are told.

extern "C" {

/// A line for each range that began, and `pop` for each that ended, since the last fake_nvtx_forget(). Valid
/// until the next call of this function.
const char* fake_nvtx_log();
void fake_nvtx_forget();
}
