# SPDX-License-Identifier: Apache-2.0
# Programs of many lines: what it takes to compile them grows with their length, not with
# its square. Each of these took a GiB or more.
needs=$memory
[ "$memory" = unlimited ] || memory=262144

# chain HEAD TAIL: 500 sums, between the two, each of which the next map takes
chain() {
    printf '%s\n' "$1"
    awk 'BEGIN {
        for (i = 0; i < 500; i++)
            printf "  let s%d = f64.sum x%d let x%d = map (\\v -> v * %d.5 + s%d) x%d\n",
                i, i, i + 1, i, i, i
    }'
    printf '%s\n' "$2"
}
chain 'entry main [n] (k: i64) (xs: [n]f64): [n]f64 =
  loop x0 = xs for _i < k do' '  in x500' >host.weft
expect 0 "$weft" dump --stage=c host.weft
chain 'entry main [n] [m] (rows: [n][m]f64): [n]f64 = map (\x0 ->' \
    '  in f64.sum x500) rows' >rows.weft
expect 0 "$weft" dump --stage=c rows.weft

# a loop that carries so many arrays
awk 'BEGIN {
    n = 200
    list = "a0"
    for (i = 1; i < n; i++) list = list ", a" i
    printf "entry main [n] (k: i64) (x: [n]f64) =\n  let (i, %s) = loop (i, %s) = (0", list, list
    for (i = 0; i < n; i++) printf ", map (+ %d) x", i
    printf ") while i < k do (i + 1"
    for (i = 0; i < n; i++) printf ", map2 (\\p q -> p * 0.5 + q) a%d a%d", i, (i + 1) % n
    print ")\n  in a0"
}' >states.weft
expect 0 "$weft" dump --stage=c states.weft

# maps of maps, which are one in the end
{
    echo 'entry main [n] (x0: [n]f64): [n]f64 ='
    awk 'BEGIN {
        for (i = 0; i < 2000; i++)
            printf "  let x%d = map (\\v -> v * %d.5 + %d) x%d\n", i + 1, i, i, i
    }'
    echo '  in x2000'
} >maps.weft
expect 0 "$weft" dump --stage=c maps.weft

# rows COUNT: so many operators with a loop behind each, so that none is in a row with
# another
rows() {
    echo 'entry main [n] (k: i64) (x0: [n]f64): [n]f64 ='
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < n; i++) {
            printf "  let y%d = map (\\v -> f64.exp (v * %d.5)) x%d\n", i, i, i
            printf "  let x%d = loop a = y%d for _i < k do map (\\v -> v * %d.5 + a[0]) a\n",
                i + 1, i, i
        }
        printf "  in x%d\n", n
    }'
}
rows 300 >rows.weft
expect 0 "$weft" explain --device cpu:0,cpu:1 rows.weft
rows 2000 >tasks.weft
expect 0 "$weft" dump --stage=task tasks.weft

# code_of FILE MOST: its code has at most so many bytes.
code_of() {
    expect 0 "$weft" dump --stage=c "$1"
    bytes=$(wc -c <stdout)
    if [ "$bytes" -le "$2" ]; then good; else bad "$1: $bytes bytes of code, not $2"; fi
}

# nest DEPTH HEAD INNER TAIL: loops within loops. Each was a kernel of its own, with all
# that are inside of it: 470 MB.
nest() {
    printf '%s\n' "$2"
    awk -v n="$1" -v inner="$3" 'BEGIN {
        for (i = 0; i < n; i++) printf "  loop x%d = x%d for i%d < k do %s\n", i + 1, i, i, inner
    }'
    printf '%s\n' "$4"
}
nest 480 'entry main (k: i64) (x0: f64): f64 =' '' '  x480 + f64.i64 (i0 + i479)' >deep.weft
code_of deep.weft 500000
nest 120 'entry main (k: i64) (x0: f64): f64 =' 'if k % 3 == i0 then x0 else' '  x120 + 1' >branches.weft
code_of branches.weft 400000
# With parallel work inside a loop is a kernel, and yet another function.
nest 120 'entry main [n] (k: i64) (x0: [n]f64): [n]f64 =' '' '  map (* 0.5) x120' >work.weft
code_of work.weft 700000

# Many operators that do the same: 25 MB of code were each for itself.
{
    echo 'entry main [n] (x0: [n]f64): [n]f64 ='
    awk 'BEGIN {
        for (i = 0; i < 330; i++) {
            printf "  let y%d = scan (+) 0 (map (\\v -> v - f64.maximum x%d) x%d)\n", i, i, i
            printf "  let x%d = map2 (\\a b -> a * 0.5 + b) x%d y%d\n", i + 1, i, i
        }
    }'
    echo '  in x330'
} >alike.weft
code_of alike.weft 400000
memory=$needs
