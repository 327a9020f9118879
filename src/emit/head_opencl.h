// OpenCL C 1.2
#pragma OPENCL FP_CONTRACT OFF

typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

#define WEFT_GPU_CODE
#define WEFT_FUN static inline
#define WEFT_GLOBAL __global
#define WEFT_LOCAL __local

static inline uint32_t weft_item(void) {
    return (uint32_t)get_global_id(0);
}

static inline uint32_t weft_items(void) {
    return (uint32_t)get_global_size(0);
}

// Of a team, which is a group: the number of the item, of the team, how many there are.
static inline int64_t weft_lane(void) {
    return (int64_t)get_local_id(0);
}

static inline uint32_t weft_team(void) {
    return (uint32_t)get_group_id(0);
}

static inline uint32_t weft_teams(void) {
    return (uint32_t)get_num_groups(0);
}

static inline void weft_wait(void) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

// Wherever they lie.
#define weft_atomic_add  atomic_add
#define weft_atomic_min  atomic_min
#define weft_atomic_max  atomic_max
#define weft_atomic_and  atomic_and
#define weft_atomic_or   atomic_or
#define weft_atomic_xor  atomic_xor
#define weft_atomic_swap atomic_cmpxchg

// Used where the device has them.
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifdef cl_khr_int64_extended_atomics
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif
#define weft_atomic_add_64  atom_add
#define weft_atomic_min_64  atom_min
#define weft_atomic_max_64  atom_max
#define weft_atomic_and_64  atom_and
#define weft_atomic_or_64   atom_or
#define weft_atomic_xor_64  atom_xor
#define weft_atomic_swap_64 atom_cmpxchg

static inline int32_t weft_popc(uint64_t x) {
    return (int32_t)popcount(x);
}

static inline int32_t weft_clz(uint64_t x) { // x != 0, as for weft_ctz
    return (int32_t)clz(x);
}

static inline int32_t weft_ctz(uint64_t x) {
    return 63 - (int32_t)clz(x & (0 - x));
}

static inline int64_t weft_mulhi_i64(int64_t x, int64_t y) {
    return mul_hi(x, y);
}

static inline uint64_t weft_mulhi_u64(uint64_t x, uint64_t y) {
    return mul_hi(x, y);
}

