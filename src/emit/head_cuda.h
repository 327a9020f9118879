// CUDA C
#pragma nv_diag_suppress 177, 550 // values that nothing uses

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#define WEFT_GPU_CODE
#define WEFT_FUN static inline __device__
#define WEFT_GLOBAL
#define WEFT_LOCAL

WEFT_FUN uint32_t weft_item(void) {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

WEFT_FUN uint32_t weft_items(void) {
    return gridDim.x * blockDim.x;
}

// Of a team, which is a group: the number of the item, of the team, how many there are.
WEFT_FUN int64_t weft_lane(void) {
    return threadIdx.x;
}

WEFT_FUN uint32_t weft_team(void) {
    return blockIdx.x;
}

WEFT_FUN uint32_t weft_teams(void) {
    return gridDim.x;
}

WEFT_FUN void weft_wait(void) {
    __syncthreads();
}

// Wherever they lie. Of those on 64 bits some are there for unsigned numbers only.
#define weft_atomic_add           atomicAdd
#define weft_atomic_min           atomicMin
#define weft_atomic_max           atomicMax
#define weft_atomic_and           atomicAnd
#define weft_atomic_or            atomicOr
#define weft_atomic_xor           atomicXor
#define weft_atomic_swap          atomicCAS
#define weft_atomic_min_64        atomicMin
#define weft_atomic_max_64        atomicMax
#define weft_atomic_swap_64       atomicCAS
#define weft_atomic_add_64(at, x) atomicAdd((uint64_t *)(at), (uint64_t)(x))
#define weft_atomic_and_64(at, x) atomicAnd((uint64_t *)(at), (uint64_t)(x))
#define weft_atomic_or_64(at, x)  atomicOr((uint64_t *)(at), (uint64_t)(x))
#define weft_atomic_xor_64(at, x) atomicXor((uint64_t *)(at), (uint64_t)(x))

WEFT_FUN int32_t weft_popc(uint64_t x) {
    return __popcll(x);
}

WEFT_FUN int32_t weft_clz(uint64_t x) { // x != 0, as for weft_ctz
    return __clzll((int64_t)x);
}

WEFT_FUN int32_t weft_ctz(uint64_t x) {
    return __ffsll((int64_t)x) - 1;
}

WEFT_FUN int64_t weft_mulhi_i64(int64_t x, int64_t y) {
    return __mul64hi(x, y);
}

WEFT_FUN uint64_t weft_mulhi_u64(uint64_t x, uint64_t y) {
    return __umul64hi(x, y);
}

