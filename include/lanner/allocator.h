#pragma once
/* Memory of the program's own for what engines hold: given to an environment or with a run. C99. */

#include <stdint.h>

#include <lanner/c_types.h>

/* What is asked for. The structure never grows. */
typedef struct lanner_allocation {
  lanner_device_kind device; /* Where the memory lies. */
  int32_t device_index;
  int32_t pinned; /* Not 0: page-locked memory of the host, for copies to and from GPU `device_index`. */
  int32_t reserved;
  uint64_t bytes;     /* At least 1. */
  uint64_t alignment; /* A power of two. */
} lanner_allocation;

/* Both functions are called by any thread, several at the same time, call nothing of Lanner and do not throw.
   The table is copied; what it points to has to last until all memory was given back. */
typedef struct lanner_allocator {
  void* user;
  /* Memory, which need not be zeroed; null where there is none left: what needs it fails with
     LANNER_OUT_OF_MEMORY. */
  void* (*allocate)(void* user, const lanner_allocation* wanted);
  /* With what was asked for. Work that is queued on a GPU may still use memory of that GPU: as cuMemFree
     does, this waits for it, or keeps the memory from others for as long. */
  void (*release)(void* user, void* memory, const lanner_allocation* wanted);
} lanner_allocator;
