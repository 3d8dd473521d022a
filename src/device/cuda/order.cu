// Nothing to do: see Note [Early starts] in order.h.

extern "C" __global__ void order_stream() {}
