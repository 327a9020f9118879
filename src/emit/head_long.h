
// ---- long turns ---------------------------------------------------------------------

// There are registers for the constants of long turns, which gcc else does not count.
// In short ones it makes constants anew, once it counts. Each loop has registers of its
// own choice: else what is around a product of matrices makes it load a vector from the
// stack for every other multiply-add. What is loaded for several operators is loaded
// once: lines that vectors cross are read twice each time. This comes before all functions: gcc inlines none
// whose options differ from the caller's.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("ira-loop-pressure", "ira-region=all", "no-forward-propagate")
#endif
