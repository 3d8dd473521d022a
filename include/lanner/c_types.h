#pragma once
/* Numbers that every part of Lanner's C interface speaks of. C99; see <lanner/c.h> for its rules. */

#include <stdint.h>

/* 0, or the number of the lanner::ErrorCode plus one. */
typedef int32_t lanner_status;
enum {
  LANNER_OK = 0,
  LANNER_INVALID_ARGUMENT = 1, /* The caller asked for something that makes no sense. */
  LANNER_NOT_FOUND = 2,        /* A file, name or library that was asked for does not exist. */
  LANNER_BAD_DATA = 3,         /* Bytes from outside are malformed. */
  LANNER_LIMIT_EXCEEDED = 4,   /* A bound on what a file may make Lanner do would be passed. */
  LANNER_UNSUPPORTED = 5,      /* Valid, but not something this build or device can do. */
  LANNER_OUT_OF_MEMORY = 6,
  LANNER_IO = 7,        /* The operating system refused a read or write. */
  LANNER_CANCELLED = 8, /* A progress function asked to stop. */
  LANNER_DEVICE = 9,    /* A driver or vendor library failed. */
  LANNER_INTERNAL = 10  /* A fault of Lanner itself. */
};

/* Element types, numbered as lanner::DType. Types under a byte are packed, lowest bits first. */
typedef int32_t lanner_dtype;
enum {
  LANNER_F32 = 0,
  LANNER_F64 = 1,
  LANNER_F16 = 2,
  LANNER_BF16 = 3,
  LANNER_I8 = 4,
  LANNER_U8 = 5,
  LANNER_I16 = 6,
  LANNER_U16 = 7,
  LANNER_I32 = 8,
  LANNER_U32 = 9,
  LANNER_I64 = 10,
  LANNER_U64 = 11,
  LANNER_BOOL = 12,
  LANNER_STRING = 13, /* Has no form in DLPack: neither bound nor given out here. */
  LANNER_C64 = 14,
  LANNER_C128 = 15,
  LANNER_I4 = 16,
  LANNER_U4 = 17,
  LANNER_I2 = 18,
  LANNER_U2 = 19,
  LANNER_F4E2M1 = 20,
  LANNER_F8E4M3FN = 21,
  LANNER_F8E4M3FNUZ = 22,
  LANNER_F8E5M2 = 23,
  LANNER_F8E5M2FNUZ = 24,
  LANNER_F8E8M0 = 25
};

/* Places where memory lives and work runs, numbered as lanner::DeviceKind. */
typedef int32_t lanner_device_kind;
enum { LANNER_CPU = 0, LANNER_CUDA = 1 };
