
// ---- long turns ---------------------------------------------------------------------

// There are registers for the constants of long turns, which gcc else does not count.
// In short ones it makes constants anew, once it counts. This comes before all
// functions: gcc inlines none whose options differ from the caller's.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("ira-loop-pressure")
#endif
