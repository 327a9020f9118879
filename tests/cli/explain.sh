# weft explain: what is told of programs on two devices, as text, as a graph and as a
# picture; what does not fit is refused. -T 1 gives each of them one core everywhere, and
# without vectors the same is expected of all machines.
XDG_CACHE_HOME=$PWD/cache WEFT_VECTOR_BYTES=0
export XDG_CACHE_HOME WEFT_VECTOR_BYTES
mkdir cache

cat >parts.weft <<'EOF'
def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009
entry main (n: i64): []i64 =
  scan (\a b -> 3 * a + b) 0 (map busy (map busy (iota n)))
EOF
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 100000
out '`main` on cpu:0, cpu:1

Operators
  line 3    map      cut in 2: 50 % for cpu:0, 50 % for cpu:1
                    (an element: about 600 scalar operations; 8 B travel)
  line 3    scan     whole: its result depends on the order, which is fixed
                    (an element: about 2 scalar operations; 16 B travel)

Program
       | entry main(n: i64) =
     3 |   _1 = if 333 <= n {
     3 |     _2 = 50 % of n
     3 |     _3 = n - _2
     3 |     _4 = iota(_2, 0, 1)
     3 |     _5 = map(_4) {x ->
     1 |       _6 = for(100, x) {i, x.1 -> (i + (x.1 * 31)) % 1009}
     1 |       _7 = for(100, _6) {i.1, x.2 -> (i.1 + (31 * x.2)) % 1009}
     3 |       _7}
     3 |     _8 = iota(_3, _2, 1)
     3 |     _9 = map(_8) {as for _5}
     3 |     _10 = _5 ++ _9
     3 |     _10} else {
     3 |     _11 = iota(n, 0, 1)
     3 |     _12 = map(_11) {as for _5}
     3 |     _12}
     3 |   _13 = scan(_1, 0) {a, b -> b + (a * 3)}
     3 |   in _13

Tasks
  task line  what             device    needs            makes     takes
     1    3  map              cpu:0     -               400 kB   35.0 ms
     2    3* map              cpu:1     -               400 kB   35.0 ms
     3    3* concat           host      1 2             800 kB      0 ns
     4    3* scan             cpu:0     3               800 kB    115 us
  * on the longest way, which takes 35.1 ms

Devices
  cpu:0: 35.1 ms of work, 0 % idle
       0 ns  run   task 1: map of line 3
    35.0 ms  free  map of task 1, 400 kB
    35.0 ms  take  map of task 2, 400 kB
    35.1 ms  run   task 4: scan of line 3
    35.2 ms  give  scan of task 4, 800 kB
  cpu:1: 35.0 ms of work, 1 % idle
       0 ns  run   task 2: map of line 3
    35.0 ms  free  map of task 2, 400 kB
  host:
    35.0 ms  run   task 3: concat of line 3
    35.2 ms  free  concat of task 3, 800 kB
  in all: 35.3 ms

Memory
  1.60 MB at most, during task 3
     400 kB  map, made in line 3
     400 kB  map, made in line 3
     800 kB  concat, made in line 3
  cpu:0 holds 2.00 MB at most
  cpu:1 holds 400 kB at most
  host holds 800 kB at most'
# Fewer elements stay whole.
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 100
out_has 'whole here: there is too little to do with fewer than 333 elements'
out_has '     1    3* map              cpu:0     -                800 B   80.0 us'
# Without values it is not known how many there are.
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft
out_has '`main` on cpu:0, cpu:1, with arguments of any size'
out_has 'cut in 2: 50 % for cpu:0, 50 % for cpu:1; from 333 elements on'
out_has '     2    3* map              cpu:1     -                    ?         ?'
out_has 'Of a branch that nobody knows the busier arm is told.'
out_has 'and arrays whose sizes are not known'
expect 0 "$weft" explain -T 2 --device cpu:0,cpu:1@0.5 parts.weft 100000
out_has 'cut in 2: 67 % for cpu:0, 33 % for cpu:1'
expect 0 "$weft" explain -T 2 parts.weft 100000
out_has 'none is cut: there is one device alone'
expect 0 env WEFT_SPLIT=none "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 100000
out_has 'none is cut: WEFT_SPLIT is none'

# Elements of rows count, too; what does little beside others is apart.
cat >rows.weft <<'EOF'
entry main [n][m] (k: i64) (xss: [n][m]f64): ([k]i64, [n][m]f64) =
  (map (* 2) (iota k),
   map (map (\x -> loop v = x for _i < 90 do v * 0.5 + x)) xss)
EOF
expect 0 "$weft" explain -T 1 --device "cpu*2" rows.weft
out_has '  line 2    map      cut in 2: 50 % for cpu:0, 50 % for cpu:1; from 200000 elements on'
out_has '  line 3    map      cut in 2: 50 % for cpu:0, 50 % for cpu:1; from 2222 elements on'
out_has 'if 2222 <= (length(xss) * length_1(xss)) {'

# Operators inside of others are told where they are, once.
cat >inside.weft <<'EOF'
def busy (x: f64): f64 = loop x for _i < 90 do f64.sqrt (x * 1.5 + 2)
entry main [n][m] (xss: [n][m]f64) =
  let yss = map (\xs ->
      let (s, t) = (f64.sum (map busy xs), f64.sum (map f64.abs xs))
      in map (/ s + t) (scan (+) 0 xs)) xss
  in yss
EOF
expect 0 "$weft" explain -T 1 --device "cpu*2" inside.weft
sed -n 's/^  line \(.* inside .*\)/\1/p' stdout | sort >inside
same inside '4    map      inside the map of line 3
4    reduce   inside the map of line 3
5    map      inside the map of line 3
5    scan     inside the map of line 3'

# What is worth it together. Of a scan that takes parts no more travels than would without it;
# a branch of scalars in between changes nothing.
cat >together.weft <<'EOF'
def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009
def twice [n] (xs: [n]i64) = scan i64.max 0 (scan (+) 0 xs)
entry light [n] (xs: [n]i64) = twice (twice (twice xs))
entry more [n] (xs: [n]i64) = twice (twice (twice (twice (twice xs))))
entry behind (n: i64) (t: f64) =
  let xs = map busy (iota n)
  let s = if t > 0 then f64.log t else loop t for _i < 90 do f64.sqrt (t * 0.5)
  in scan (+) 0 (scan i64.max (i64.f64 s) xs)
entry both (n: i64) = let xs = map busy (iota n) in (scan i64.max 0 xs, xs)
EOF
cuts() { # ENTRY: what becomes of its operators
    expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 together.weft "$1"
    awk '/^  line/ { what = $3 " " $4 } /travel\)/ { print what, $(NF - 2) " B" }' stdout |
        uniq -c | sed 's/^ *//' >cuts
}
cuts light
same cuts '6 scan whole: 16 B'
cuts more
same cuts '1 scan cut 8 B
8 scan cut 0 B
1 scan cut 8 B'
cuts behind
same cuts '1 map cut 0 B
1 scan cut 0 B
1 scan cut 8 B'
cuts both
same cuts '1 map cut 8 B
1 scan whole: 16 B'

cat >steps.weft <<'EOF'
-- Steps of which each device makes several in one pass, and such as do more.
entry light [n] (xs: [n]f64): [n]f64 =
  loop x = xs for _i < 90 do
    tabulate n (\i -> if i == 0 || i == n - 1 then x[i] else (x[i - 1] + x[i + 1]) / 2)
entry heavy [n] (xs: [n]f64): [n]f64 =
  loop x = xs for _i < 90 do
    tabulate n (\i ->
      if i == 0 || i == n - 1 then x[i] else f64.tanh (f64.sqrt (x[i - 1] / x[i + 1])))
EOF
for devices in cpu:0,cpu:1 'cpu*2'; do
    expect 0 "$weft" explain -T 1 --device "$devices" steps.weft light
    out_has '  line 3    for      cut in 2: 50 % for cpu:0, 50 % for cpu:1; from 222 elements on, if parts are long enough for several turns at a time'
    expect 0 "$weft" explain -T 1 --device "$devices" steps.weft heavy
    out_has '  line 7    generate cut in 2: 50 % for cpu:0, 50 % for cpu:1; from'
    WEFT_SPLIT=0 expect 0 "$weft" explain -T 1 --device "$devices" steps.weft light
    out_has '  line 4    generate cut in 2: 50 % for cpu:0, 50 % for cpu:1'
done

cat >turns.weft <<'EOF'
-- Turns of a loop, and operators that stay whole.
def step [n] (xs: [n]f64): [n]f64 =
  map (\i -> f64.sqrt (loop x = xs[i] for _j < 90 do x * 0.5 + xs[(i + 1) % n])) (iota n)
entry main [n] (xs: [n]f64) (is: []i64): ([n]f64, f64, []i64) =
  let ys = loop v = xs for _i < 10 do step v
  let zs = scan (+) 0 is
  in (map2 (+) xs ys, f64.sum ys, filter (> 3) zs)
EOF
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 turns.weft
out '`main` on cpu:0, cpu:1, with arguments of any size

Operators
  line 3    map      cut in 2: 50 % for cpu:0, 50 % for cpu:1; from 732 elements on
                    (an element: about 273 scalar operations; 8 B travel)
  line 6    scan     whole: what would travel takes longer than is saved
                    (an element: about 1 scalar operations; 16 B travel)
  line 7    map      whole: what would travel takes longer than is saved
                    (an element: about 1 scalar operations; 24 B travel)
  line 7    reduce   whole: what would travel takes longer than is saved
                    (an element: about 1 scalar operations; 8 B travel)
  line 7    filter   whole: what would travel takes longer than is saved
                    (an element: about 1 scalar operations; 16 B travel)

Program
       | entry main(xs: []f64, is: []i64) =
     5 |   ys = for(10i32, xs) {_i, v ->
     3 |     _1 = if 732 <= length(xs) {
     3 |       _2 = 50 % of length(xs)
     3 |       _3 = length(xs) - _2
     3 |       _4 = iota(_2, 0, 1)
     3 |       _5 = map(_4) {i ->
     3 |         _6 = for(90i32, v[i]) {_j, x -> fma(x, 0.5, v[(1 + i) % length(v)])}
     3 |         sqrt(_6)}
     3 |       _7 = iota(_3, _2, 1)
     3 |       _8 = map(_7) {as for _5}
     3 |       _9 = _5 ++ _8
     3 |       _9} else {
     3 |       _10 = iota(length(v), 0, 1)
     3 |       _11 = map(_10) {as for _5}
     3 |       _11}
     5 |     _1}
     6 |   zs = scan(is, 0) {_12, _13 -> _12 + _13}
     7 |   _14 = map(xs, ys) {a, b -> a + b}
     7 |   _15 = reduce(ys, 0.0) {_16, _17 -> _16 + _17}
     7 |   _18 = filter(zs) {x.1 -> 3 < x.1, x.1}
     7 |   in _14, _15, _18

Tasks
  task line  what             device    needs            makes     takes
     1    3  map              cpu:0     -                    ?         ?
     2    3* map              cpu:1     -                    ?         ?
     3    3* concat           host      1 2                  ?         ?
     4    3  map              cpu:0     3                    ?         ?  in 9 turns
     5    3* map              cpu:1     3                    ?         ?  in 9 turns
     6    3* concat           host      4 5                  ?         ?  in 9 turns
     7    6  scan zs          cpu:0     -                    ?         ?
     8    7* map              cpu:1     6                    ?         ?
     9    7  reduce           cpu:0     6                  8 B         ?
    10    7  filter           cpu:1     7                    ?         ?
  * on the longest way, which takes ?
  Of a branch that nobody knows the busier arm is told.

Devices
  cpu:0:
    take  xs, ?
    run   task 1: map of line 3
    free  map of task 1, ?
    take  map of task 2, ?
    run   task 4: map of line 3
    free  map of task 4, ?
    take  is, ?
    run   task 7: scan of line 6
    take  map of task 5, ?
    run   task 9: reduce of line 7
    free  zs of task 7, ?
  cpu:1:
    take  xs, ?
    run   task 2: map of line 3
    free  map of task 2, ?
    take  map of task 1, ?
    run   task 5: map of line 3
    free  map of task 5, ?
    take  map of task 4, ?
    run   task 8: map of line 7
    take  zs of task 7, ?
    run   task 10: filter of line 7
    give  map of task 8, ?
    give  filter of task 10, ?
  host:
    run   task 3: concat of line 3
    free  concat of task 3, ?
    run   task 6: concat of line 3
    free  concat of task 6, ?
  in all: ?

Memory
  0 B at least
  and arrays whose sizes are not known'

# Who makes what a task needs is told in full, and that a name goes on.
cat >many.weft <<'EOF'
entry main (n: i64): []i64 =
  let the_very_first_one = scan (+) 0 (iota n)
  let part (i: i64) = scan i64.max i the_very_first_one
  let (a, b, c, d, e, f) = (part 1, part 2, part 3, part 4, part 5, part 6)
  in map (\i -> a[i] + b[i] + d[i] + e[i] + the_very_first_one[i])
         (map (\i -> c[i] + f[i]) (iota n))
EOF
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 many.weft 1000
out_has '     1    2* scan the_very_f… cpu:0     -              8.00 kB   10.5 us'
out_has '     8    6* map              cpu:1     4 7            8.00 kB   11.6 us'
out_has '     9    5* map              cpu:1     1-3 5 6 8      8.00 kB   13.9 us'

# Many turns with work that only the run can tell, and far too much of it.
cat >deep.weft <<'EOF'
entry main (v: []i64): []i64 =
  loop v for a < 3 do loop v for b < 3 do loop v for c < 3 do loop v for d < 3 do
  loop v for e < 3 do loop v for f < 3 do loop v for g < 3 do loop v for h < 3 do
  loop v for i < 3 do loop v for j < 3 do loop v for k < 3 do loop v for l < 3 do
  filter (> 0) (map (\x -> x * 3 % 1009) v)
EOF
expect 0 "$weft" explain -T 2 --device 'cpu*2' deep.weft
out_has 'There are more, which are not told.'
expect 0 "$weft" explain -T 2 --device 'cpu*2' deep.weft -f svg -o deep.svg
command='the picture of much'
if grep -q 'there are more tasks' deep.svg; then good; else bad 'it says nothing'; fi

# Many operators in many parts take no memory of their square.
{
    echo 'def busy (x: f64): f64 = loop x for _i < 100i32 do f64.sqrt (x * 1.5 + 2)'
    echo 'entry main [n] (xs0: [n]f64): [n]f64 ='
    i=0
    while [ $i -lt 150 ]; do
        echo "  let xs$((i + 1)) = tabulate n (\\i -> if i == 0 then busy xs$i[i] else" \
            "busy (xs$i[i - 1] + xs$i[(i + 1) % n]))"
        i=$((i + 1))
    done
    echo '  in xs150'
} >chain.weft
expect 0 "$weft" explain -d 'cpu*12' chain.weft
out_has '  line 152  generate cut in 12'

# ---- the program --------------------------------------------------------------------

cat >bodies.weft <<'EOF'
def busy (x: f64): f64 = loop x for _i < 90 do f64.sqrt (x * 1.5 + 2)
-- The second part is shifted.
entry gen [n] (xs: [n]f64) = tabulate n (\_1 -> busy (xs[n - 1 - _1] + f64.i64 _1))
-- The parts of the sum are of different arrays; the tree is another operator.
entry sum (n: i64) = f64.sum (map (\i -> busy (f64.i64 i)) (iota n))
-- The loop takes more lines than are told.
entry long [n] (xs: [n]i64) =
  let f = \a b -> (a ^ b) * a + (b % 3 - a) * b
  let g = \a b -> let c = f b a let d = f c b let e = f d c let h = f e d
                  let i = f h e let j = f i h let k = f j i let l = f k j in f l k
  in map (\x -> g (g (f x 1) (f x 2)) (f x 3)) xs
EOF
# program ENTRY TEXT: what is told of that entry.
program() {
    expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 bodies.weft "$1"
    sed -n '/^Program$/,/^$/p' stdout | sed '1d;$d' >program
    same program "$2"
}
program gen '       | entry gen(xs: []f64) =
     3 |   _1 = if 1086 <= length(xs) {
     3 |     _2 = 50 % of length(xs)
     3 |     _3 = generate(_2) {_1.0 ->
     1 |       _4 = for(90i32, xs[(length(xs) - 1) - _1.0] + f64(_1.0)) {_i, x -> sqrt(fma(x, 1.5, 2.0))}
     3 |       _4}
     3 |     _5 = generate(length(xs) - _2) {_6 ->
     3 |       _1.1 = _6 + _2
     1 |       _7 = for(90i32, xs[(length(xs) - 1) - _1.1] + f64(_1.1)) {_i.1, x.1 -> sqrt(fma(x.1, 1.5, 2.0))}
     3 |       _7}
     3 |     _8 = _3 ++ _5
     3 |     _8} else {
     3 |     _9 = generate(length(xs)) {as for _3}
     3 |     _9}
     3 |   in _1'
program sum '       | entry sum(n: i64) =
     5 |   _1 = if 1098 <= n {
     5 |     _2 = 50 % of n
     5 |     _3 = n - _2
     5 |     _4 = iota(_2, 0, 1)
     5 |     xs = map(_4) {i ->
     1 |       _5 = for(90i32, f64(i)) {_i, x -> sqrt(fma(x, 1.5, 2.0))}
     5 |       _5}
     5 |     _6 = iota(_3, _2, 1)
     5 |     xs.1 = map(_6) {as for xs}
     5 |     _7 = if 32768 <= n {
     5 |       _8 = generate((_2 + 8191) // 8192) {_9 ->
     5 |         _10 = _9 * 8192
     5 |         _11 = xs[_10 : +min(length(xs) - _10, 8192)]
     5 |         _12 = reduce(_11, 0.0) {_13, _14 -> _13 + _14}
     5 |         _12}
     5 |       _15 = generate((_3 + 8191) // 8192) {as for _8, with xs.1 for xs}
     5 |       _16 = _8 ++ _15
     5 |       _17 = while(_16) {_18 -> 1 < length(_18)} {_19 ->
     5 |         _20 = generate((length(_19) + 1) // 2) {_21 ->
     5 |           _22 = _21 * 2
     5 |           _23 = _22 + 1
     5 |           _24 = _19[_22]
     5 |           _25 = if _23 < length(_19) {_24 + _19[_23]} else {_24}
     5 |           _25}
     5 |         _20}
     5 |       _26 = if n == 0 {0.0} else {_17[0]}
     5 |       _26} else {
     5 |       _27 = xs ++ xs.1
     5 |       _28 = reduce(_27, 0.0) {_29, _30 -> _29 + _30}
     5 |       _28}
     5 |     _7} else {
     5 |     _31 = iota(n, 0, 1)
     5 |     xs.2 = map(_31) {as for xs}
     5 |     _32 = reduce(xs.2, 0.0) {_33, _34 -> _33 + _34}
     5 |     _32}
     5 |   in _1'
program long '       | entry long(xs: []i64) =
    11 |   _1 = if 1639 <= length(xs) {
    11 |     _2 = 50 % of length(xs)
    11 |     _3 = length(xs) - _2
    11 |     _4, _5 = split xs into _2, _3
    11 |     _6 = map(_4) {x ->
     8 |       a = (x * (x ^ 1)) + (1 - x)
     8 |       b = (x * (x ^ 2)) + (2 * (2 - x))
     8 |       c = (b * (b ^ a)) + (a * ((a % 3) - b))
     8 |       d = (c * (c ^ b)) + (b * ((b % 3) - c))
     8 |       e = (d * (d ^ c)) + (c * ((c % 3) - d))
     8 |       h = (e * (e ^ d)) + (d * ((d % 3) - e))
     8 |       i = (h * (h ^ e)) + (e * ((e % 3) - h))
     8 |       j = (i * (i ^ h)) + (h * ((h % 3) - i))
     8 |       k = (j * (j ^ i)) + (i * ((i % 3) - j))
     8 |       l = (k * (k ^ j)) + (j * ((j % 3) - k))
     8 |       a.1 = (l * (l ^ k)) + (k * ((k % 3) - l))
     8 |       b.1 = (x * (x ^ 3)) + (3 * (0 - x))
     8 |       c.1 = (b.1 * (b.1 ^ a.1)) + (a.1 * ((a.1 % 3) - b.1))
     8 |       d.1 = (c.1 * (c.1 ^ b.1)) + (b.1 * ((b.1 % 3) - c.1))
     8 |       e.1 = (d.1 * (d.1 ^ c.1)) + (c.1 * ((c.1 % 3) - d.1))
     8 |       h.1 = (e.1 * (e.1 ^ d.1)) + (d.1 * ((d.1 % 3) - e.1))
    11 |       .. (5 more)}
    11 |     _7 = map(_5) {as for _6}
    11 |     _8 = _6 ++ _7
    11 |     _8} else {
    11 |     _9 = map(xs) {as for _6}
    11 |     _9}
    11 |   in _1'

# Every name is bound before it is used, and no other value has it.
root=$here/../..
for file in "$root"/tests/lang/soacs/[f-m]*.weft "$root"/tests/lang/programs/[bk]*.weft \
    "$root"/bench/papers/*.weft; do
    for entry in $(sed -n 's/^ *entry \([a-z0-9_]*\).*/\1/p' "$file"); do
        WEFT_SPLIT=0 expect 0 "$weft" explain -T 3 --device cpu:0,cpu:1,cpu:2 "$file" "$entry"
        awk -f "$here/names.awk" stdout >names
        same names ''
    done
done

# ---- the graph ----------------------------------------------------------------------

expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 100000 --format=dot
out 'digraph plan {
  node [shape=box, style="filled,rounded"];
  t0 [label="1: map\nline 3, cpu:0\n35.0 ms, 400 kB", fillcolor="#2f6fb322"];
  t1 [label="2: map\nline 3, cpu:1\n35.0 ms, 400 kB", fillcolor="#e08a2c22", penwidth=2];
  t2 [label="3: concat\nline 3, host\n0 ns, 800 kB", fillcolor="#8693a022", penwidth=2];
  t3 [label="4: scan\nline 3, cpu:0\n115 us, 800 kB", fillcolor="#2f6fb322", penwidth=2];
  r0 [label="result, 800 kB", shape=ellipse, fillcolor=white];
  t0 -> t2 [label="400 kB"];
  t1 -> t2 [label="400 kB"];
  t2 -> t3 [label="400 kB", penwidth=3];
  t3 -> r0 [label="800 kB", penwidth=3];
  subgraph cluster_devices {
    label="devices";
    d0 [label="cpu:0: works for 35.1 ms", fillcolor="#2f6fb322"];
    d1 [label="cpu:1: works for 35.0 ms", fillcolor="#e08a2c22"];
    d2 [label="host", fillcolor="#8693a022"];
  }
}'
command='the graph for Graphviz'
if command -v dot >/dev/null; then
    if dot -Tsvg stdout >/dev/null 2>stderr; then good; else bad "$(cat stderr)"; fi
else skipped=$((skipped + 1)); fi
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 100000 -f svg -o parts.svg
out ''
# Each box is there once, with what it says; names are no markup.
command='the picture'
for text in '>1: map<' '>2: map<' '>3: concat<' '>line 3, cpu:1<' '>400 kB<'; do
    if grep -q -e "$text" parts.svg; then good; else bad "there is no $text"; fi
done
if [ "$(grep -c 'class="box"' parts.svg)" = 4 ]; then good; else bad 'boxes'; fi
cat >'<&">.weft' <<'EOF'
entry a' (xs: []f64) = (f64.sum xs, map (+ 1) xs)
EOF
expect 0 "$weft" explain -T 2 --device 'cpu*2' '<&">.weft' "a'" -f svg -o odd.svg
for file in parts.svg deep.svg odd.svg; do
    command="$file is XML"
    if command -v xmllint >/dev/null; then
        if xmllint --noout $file 2>stderr; then good; else bad "$(cat stderr)"; fi
    elif command -v python3 >/dev/null; then
        if python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' $file \
            2>stderr; then good; else bad "$(cat stderr)"; fi
    fi
done

# How larger ones look: of real programs, of one with long names, of one with many maps.
papers=$here/../../bench/papers
draw() {
    devices=$1 file=$2
    shift 2
    expect 0 "$weft" explain -T 1 --device "$devices" "$@" -f svg -o "$file"
}
cat >names.weft <<'EOF'
def a_function_whose_name_is_long (x: f64) = loop x for _i < 200 do f64.sqrt (x * 1.5 + 2)
entry an_entry_whose_name_is_rather_long [many_elements]
    (an_argument_WHOSE_NAME_IS_LONG: [many_elements]f64)
    (another_one_of_which_more_is_said: [many_elements]f64) =
  let the_first_of_all_results = map a_function_whose_name_is_long an_argument_WHOSE_NAME_IS_LONG
  let mMMMMMMMMMMMMMMM = map2 (*) the_first_of_all_results another_one_of_which_more_is_said
  in (scan (+) 0 mMMMMMMMMMMMMMMM, f64.sum the_first_of_all_results)
EOF
{
    echo 'def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009'
    echo 'entry main (n: i64) = ('
    i=1
    while [ $i -lt 60 ]; do
        echo "  map (\\x -> busy (x + $i)) (iota n),"
        i=$((i + 1))
    done
    echo '  map busy (iota n))'
} >wide.weft
echo 'entry main (n: i64) (_xs: []f64) = map (* 3) (iota n)' >unused.weft
draw cpu:0,cpu:1 unused.svg unused.weft
for devices in cpu:0,cpu:1@0.33 'cpu*2'; do
    draw "$devices" "twice.$devices.svg" "$papers/nbody.weft" twice 4096
    draw "$devices" "marsh.$devices.svg" "$papers/saltmarsh.weft" saltmarsh 512 512 20
    draw "$devices" "gmm.$devices.svg" "$papers/gmm.weft" gmm 10000 16 8
    draw "$devices" "names.$devices.svg" names.weft
    draw "$devices" "wide.$devices.svg" wide.weft 100000
done
draw 'cpu*12' twelve.svg wide.weft 100000
if command -v python3 >/dev/null; then
    command='how pictures look'
    if python3 "$here/explain_layout.py" 2100 twice.*.svg marsh.*.svg gmm.*.svg \
        names.*.svg wide.*.svg twelve.svg unused.svg >stdout 2>stderr
    then good; else bad "$(cat stdout stderr)"; fi
else skipped=$((skipped + 1)); fi
command='the results of saltmarsh'
for n in 1 2 3 4 5; do
    if grep -q ">result $n, 8 B<" marsh.cpu:0*.svg; then good; else bad "there is no $n"; fi
done
# Each is of one sum alone, whatever the branches for other sizes make of it.
expect 0 "$weft" explain -T 1 --device 'cpu*2' "$papers/saltmarsh.weft" saltmarsh 512 512 20 \
    -f dot
if [ "$(grep -c -e '-> r' stdout)" = 5 ]; then good; else bad "$(grep -e '-> r' stdout)"; fi
# A result that is a length is made of what has it.
cat >lengths.weft <<'EOF'
def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009
entry main (n: i64) (ys: []i64) =
  let xs = filter (> 500) (map busy (iota n))
  in (length xs, length ys, 2 * length xs + i64.sum xs)
EOF
lengths() {
    expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 lengths.weft 100000 '[1, 2, 3]' "$@"
}
lengths
out_has '  result 1 needs 5 (its length)'
out_has '  result 2 needs ys (its length)'
out_has '  result 3 needs 6'
lengths -f dot
out_has '  t4 -> r0 [label="its length"];'
out_has '  a0 -> r1 [label="its length"];'
out_has '  t5 -> r2 [label="8 B"];'
lengths -f svg
out_has '<title>xs, its length</title>'
out_has '<title>ys, its length</title>'
# An edge that only orders says so, and an empty array that it is empty.
echo 'entry main (n: i64) (xs: []i64) = (map (* 2) xs)[n % 3] +
  i64.sum (map (\x -> loop x for _i < 90 do x * 7 % 1009) (iota (filter (> 3) xs)[0]))' >waits.weft
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 waits.weft -f dot
out_has '[label="waits"]'
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 0 -f dot
out_has '[label="0 B"]'
command='names that are too long for their boxes'
for name in 'an_argument_WHOSE_NAME_IS_LONG, ?' 'map the_first_of_all_results'; do
    if grep -q "<title>[0-9: ]*$name</title></text>" names.cpu:0*.svg; then good
    else bad "$name"; fi
done
command='colours of twelve devices and the host'
count=$(grep -o 'height="13" rx="3" fill="#[0-9a-f]*"' twelve.svg | sort -u | wc -l)
if [ "$count" = 13 ]; then good; else bad "$count"; fi

# Why what is worth it stays whole.
cat >why.weft <<'EOF'
def much (x: i64): i64 = loop x for _i < 100 do x * 7 % 1009
entry sums (n: i64): f64 = f64.sum (map (\i -> f64.i64 (much i)) (iota n))
entry bins (n: i64) (k: i64): []i64 = hist (+) 0 k (map (\i -> much i % k) (iota n)) (iota n)
entry places [n] (xs: [n]i64) (is: [n]i64): [n]i64 = scatter (replicate n 0) is xs
EOF
expect 0 "$weft" explain -T 2 --device 'cpu*2' why.weft sums 20000
out_has 'reduce   whole here: each device would need two blocks of 8192 elements'
expect 0 "$weft" explain -T 2 --device 'cpu*2' why.weft bins 20000 40000
out_has 'hist     whole here: there are fewer elements than bins'
expect 0 "$weft" explain -T 2 --device 'cpu*2' why.weft places
out_has 'scatter  whole: parts would take no less time'
command='of one entry only its own operators'
if grep -q 'reduce\|hist' stdout; then bad "$(cat stdout)"; else good; fi

# ---- measured -----------------------------------------------------------------------

expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 30000 --measure
out_has '     makes     takes  measured'
out_has '; measured '
out_has ' edges cross devices; '
out_has ' kB to and from it'
command='every task is measured'
if [ "$(grep -cE '^     [1-4] .* (ns|us|ms|s)( +on cpu:.)?$' stdout)" = 4 ]; then good
else bad "$(cat stdout)"; fi
command='and every memory'
for place in cpu:0 cpu:1 host; do
    if grep -qE "^  $place holds [0-9.]+ [kM]?B at most; measured [0-9.]+ [kM]B\$" stdout
    then good; else bad "$(cat stdout)"; fi
done
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft --times
err_has ' fission '
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 30000 --measure -f dot
out_has ', took '
# What was learned meanwhile is told: most of the work is in the first quarter.
cat >uneven.weft <<'EOF'
entry main (n: i64): []i64 =
  map (\i -> loop x = i for _j < (if i * 4 < n then 20000 else 10) do (x * 31 + 7) % 1009)
      (iota n)
EOF
expect 0 "$weft" explain -T 2 --device 'cpu*2' uneven.weft 4000 --measure
out_has ' for cpu:1; at first 50 %, 50 %'
echo 'entry main (n: i64): i64 = (map (\i -> 10 / i) (iota n))[1]' >fails.weft
expect 1 "$weft" explain -T 2 --device 'cpu*2' fails.weft 10 --measure
err_has 'division by zero'
out ''

# ---- what does not fit --------------------------------------------------------------

expect 1 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 1000000000 -m 100M
err_has 'and the ceiling is 105 MB: 16.0 GB of line 3'
out ''
expect 0 "$weft" explain -T 1 --device cpu:0,cpu:1 parts.weft 1000 -m 100M

# ---- what fails ---------------------------------------------------------------------

# It is told as the run would, at its place; with other values there is a plan.
cat >sizes.weft <<'EOF'
entry line (k: i64): []i64 = map (* 3) (iota k)
entry rows (k: i64) (m: i64) = replicate k (replicate m 1.0f64)
entry branch (k: i64): []i64 = if k < 0 then [1] else map (* 3) (iota k)
entry first [n] (k: i64) (xs: [n]i64): i64 = if k > 3 then assert (n > 2) xs[0] else 7
entry loose (k: i64) (xs: []i64): []i64 = if xs[0] > 3 then map (* 3) (iota k) else [1]
EOF
for devices in cpu cpu:0,cpu:1 'cpu*2'; do
    expect 1 "$weft" explain --device "$devices" sizes.weft line -5
    err_has 'sizes.weft:1:41: error: a size of -5 is negative: a run with these values fails here; there is a plan for others, or without any'
    out ''
    expect 1 "$weft" explain --device "$devices" sizes.weft line 4611686018427387904 -f svg
    err_has ' × 8 bytes cannot be represented: a run with these values fails here'
    expect 1 "$weft" explain --device "$devices" sizes.weft rows 4 -2
    err_has 'sizes.weft:2:45: error: a size of -2 is negative'
    expect 1 "$weft" explain --device "$devices" sizes.weft rows 4000000000 4000000000
    err_has 'an array of 4000000000 × 4000000000 × 8 bytes cannot be represented'
    expect 0 "$weft" explain --device "$devices" sizes.weft rows 40 40
    expect 0 "$weft" explain --device "$devices" sizes.weft branch -5
    expect 1 "$weft" explain --device "$devices" sizes.weft first 4 '[1, 2]'
    err_has 'a run with these values fails here'
    expect 0 "$weft" explain --device "$devices" sizes.weft first 3 '[1, 2]'
    # Only the run can tell whether it comes to that.
    expect 0 "$weft" explain --device "$devices" sizes.weft loose -5 '[1, 2]'
done

# ---- mistakes -----------------------------------------------------------------------

expect 2 "$weft" explain
err_has 'name a program to explain'
expect 2 "$weft" explain parts.weft -f png
err_has 'there is no format `png`: text, dot or svg'
expect 2 "$weft" explain parts.weft -m much
expect 2 "$weft" explain parts.weft nothing
err_has 'has no entry `nothing`'
expect 2 "$weft" explain parts.weft --measure
err_has '`main` cannot be measured without values for it'
expect 1 "$weft" explain parts.weft '[1'
err_has 'for the parameter `n: i64` of `main`'
expect 1 "$weft" explain parts.weft -o /nowhere/to/be.svg
err_has 'cannot write `/nowhere/to/be.svg`'
expect 1 "$weft" explain none.weft
err_has 'cannot read `none.weft`'
expect 1 "$weft" explain --device abacus parts.weft
err_has 'device abacus cannot be used: `abacus` is no device'
expect 1 "$weft" explain --device 'cpu*' parts.weft
err_has '`cpu*`: the cores can be 1 to 64 devices, as in cpu*4'
head -c 2000 /dev/urandom >noise.weft
expect 1 "$weft" explain --device 'cpu*2' noise.weft
