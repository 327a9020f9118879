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
memory=$needs
