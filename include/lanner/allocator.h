#pragma once
/* The program's own allocator for memory of engines: given to an environment or with a run. C99. */

#include <stdint.h>

#include <lanner/c_types.h>

/* A request for memory. The structure never grows. */
typedef struct lanner_allocation {
  lanner_device_kind device; /* Where the memory is. */
  int32_t device_index;
  int32_t pinned; /* Not 0: page-locked memory of the host, for copies to and from GPU `device_index`. */
  int32_t reserved;
  uint64_t bytes;     /* At least 1. */
  uint64_t alignment; /* A power of two. */
} lanner_allocation;

/* Both functions are called by any thread, also concurrently, must not call Lanner and must not throw. The
   table is copied; what it points to must stay valid until all memory was released. */
typedef struct lanner_allocator {
  void* user;
  /* Returns memory, which need not be zeroed; null where there is none left: the call that needs it fails
     with LANNER_OUT_OF_MEMORY. */
  void* (*allocate)(void* user, const lanner_allocation* wanted);
  /* `wanted` is the request. Work that is queued on a GPU may still use memory of that GPU: like cuMemFree,
     this must wait for it, or keep the memory from other uses until then. */
  void (*release)(void* user, void* memory, const lanner_allocation* wanted);
} lanner_allocator;
