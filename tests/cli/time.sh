# weft run --time: one line on standard error, in a form that weft bench reads.
printf 'entry main (n: i64): i64 = i64.sum (iota n)\n' >sum.weft
times='^seconds: [0-9.]* running, [0-9.]* compiling, [0-9.]* reading, [0-9.]* writing$'
for option in -t --time; do
    expect 0 "$weft" run $option sum.weft 10
    out '45i64'
    if [ "$(grep -c "$times" stderr)" = 1 ] && [ "$(wc -l <stderr)" = 1 ]; then good
    else bad "$(cat stderr)"; fi
done
expect 0 "$weft" run --time sum.weft 10 -o sum.npy
if grep -q "$times" stderr; then good; else bad "$(cat stderr)"; fi
expect 1 "$weft" run --time sum.weft '[ten]'
if grep -q seconds: stderr; then bad 'the times of a failure'; else good; fi
