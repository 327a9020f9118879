
WEFT_FUN uint64_t weft_bits_f64(double x) {
    union { double f; uint64_t u; } v;
    v.f = x;
    return v.u;
}

// As weft_number_f32.
WEFT_FUN uint64_t weft_number_f64(double x) {
    const uint64_t bits = weft_bits_f64(x);
    return bits << 1 > 0xffe0000000000000u ? 0x7ff8000000000000u : bits;
}

WEFT_FUN double weft_f64(uint64_t bits) {
    union { double f; uint64_t u; } v;
    v.u = bits;
    return v.f;
}
