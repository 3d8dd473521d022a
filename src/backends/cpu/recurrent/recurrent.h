#pragma once
// lstm, gru and rnn of f32.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily recurrent_family;

} // namespace lanner
