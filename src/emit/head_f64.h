
WEFT_FUN uint64_t weft_bits_f64(double x) {
    union { double f; uint64_t u; } v;
    v.f = x;
    return v.u;
}

WEFT_FUN double weft_f64(uint64_t bits) {
    union { double f; uint64_t u; } v;
    v.u = bits;
    return v.f;
}
