# Engines: the same answers and errors.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache
cat >calls.weft <<'END'
#[noinline]
def g (xs: []i64) (i: i64): i64 = 10 / xs[i]
#[noinline]
def f (xs: []i64) (i: i64): i64 = 1 + g xs (i + 1)
entry main (xs: []i64): []i64 = map (f xs) (iota (length xs))
entry sum (xs: []i64): i64 = loop s = 0 for x in xs do s + assert (x < 3) x
entry nested (n: i64) (m: i64): [][]i64 =
  map (\i -> map (\j -> if i * j == 12 then i / 0 else i * j) (iota m)) (iota n)
entry least (xs: []i64): []i64 = map (\x -> 100 / x) xs
entry negative (n: i64): [][]i64 = map (\i -> iota (3 - i)) (iota n)
entry square (n: i64): i64 = i64.sum (map (\x -> x * x) (iota n))
END
# Operators that do the same have one code, and errors of their own.
cat >alike.weft <<'END'
#[noinline]
def at [n] (xs: [n]i64) (i: i64): i64 = xs[i]
def safe [n] (xs: [n]i64) (ys: [n]i64): [n]i64 =
  map (\x -> at xs x / (x - 3)) ys
entry main [n] (xs: [n]i64) (ys: [n]i64) (zs: [n]i64): i64 =
  let a = safe xs (scan (+) 0 ys)
  let c = safe xs (scan (+) 0 zs)
  let d = map (\x -> at xs x / (x - 3)) (scan (+) 0 c)
  in i64.sum (scan (+) 0 a) + i64.sum (scan (+) 0 d)
entry either [n] (xs: [n]i64) (ys: [n]i64): ([n]i64, [n]i64) =
  (scan (+) 0 (map2 (\x y -> x - y) xs ys), scan (+) 0 (map2 (\x y -> y - x) xs ys))
END
engines() {  # engines ENTRY VALUE...: as the interpreter answers
    "$weft" run -e interp "${program-calls.weft}" "$@" >wanted 2>wanted_err
    wanted_status=$?
    for threads in 1 3; do
        expect $wanted_status "$weft" run -e native -T $threads "${program-calls.weft}" "$@"
        same stdout "$(cat wanted)"
        same stderr "$(cat wanted_err)"
    done
}
program=alike.weft
engines main '[1, 2, 3, 4, 5]' '[0, 0, 0, 0, 0]' '[0, 0, 0, 0, 0]'
engines main '[1, 2, 3, 4, 5]' '[0, 0, 7, 0, 0]' '[0, 0, 0, 0, 0]'
engines main '[1, 2, 3, 4, 5]' '[0, 0, 0, 0, 0]' '[0, 0, 9, 0, 0]'
engines main '[1, 2, 3, 4, 5]' '[0, 0, 0, 0, 0]' '[0, 0, 3, 0, 0]'
engines main '[-3, 2, 3, 4, 5]' '[0, 0, 0, 0, 0]' '[0, 0, 0, 0, 0]'
engines main '[0, 0, 3, 4, 5]' '[0, 0, 0, 0, 0]' '[0, 0, 0, 0, 0]'
engines either '[1, 2, 3]' '[5, 6, 8]'
unset program
expect 0 "$weft" dump --stage=c alike.weft
found=$(grep -c '^int32_t weft_kernel_' stdout)
[ "$found" = 7 ] && good || bad "$found kernels, not 7"
engines main '[1, 2, 0, 4]'
engines main '[1, 2, 3, 4]'
engines sum '[1, 2, 2]'
engines sum '[1, 2, 3]'
engines nested 3 4
engines nested 5 5
engines least '[5, 4, 3]'
"$weft" data random '[20000]u8' --seed 4 -o bytes.npy
cat >zeros.weft <<'END'
entry main (xs: []u8): []i64 = map (\x -> 100 / i64.u8 x) xs
END
for threads in 1 2 7; do  # many turns fail: the first one in order counts
    expect 1 "$weft" run -e native -T $threads zeros.weft bytes.npy
    err_has 'division by zero'
done
# A row size of -1 leaves it to the rows only where it is written; computed, it is wrong.
cat >rows.core <<'END'
entry computed(k: i64, m: i64) -> ([][]i64) {
  n: i64 = sub(m, 1i64)
  r: [][]i64 = generate[1](k, n) {|i: i64| a: []i64 = iota(m, i, 1i64) -> a}
  -> r
}
entry written(k: i64, m: i64) -> ([][]i64) {
  r: [][]i64 = generate[1](k, -1i64) {|i: i64| a: []i64 = iota(m, i, 1i64) -> a}
  -> r
}
END
for engine in interp native; do
    expect 1 "$weft" run -e $engine rows.core computed 0 0
    err_has 'a size of -1 is negative'
    expect 1 "$weft" run -e $engine rows.core computed 2 0
    err_has 'a size of -1 is negative'
    expect 0 "$weft" run -e $engine rows.core computed 0 3
    out 'empty([0][2]i64)'
    expect 1 "$weft" run -e $engine rows.core computed 2 3
    err_has 'rows of unequal shape'
    expect 0 "$weft" run -e $engine rows.core written 2 3
    out '[[0i64, 1i64, 2i64], [1i64, 2i64, 3i64]]'
    expect 0 "$weft" run -e $engine rows.core written 0 -- -2
    out 'empty([0][0]i64)'
done
engines negative 4
engines square 100000
expect 1 "$weft" run -e native -m 100K calls.weft square 100000
err_has 'out of memory'
echo 'entry main (ns: []i64): []i64 = map (+ 1) (iota ns[0])' >large.weft
expect 1 "$weft" run -e native -m 8M large.weft '[10000000]'
err_has 'out of memory: 80000000 bytes were wanted'
expect 0 "$weft" run --engine auto calls.weft square 10
out '285i64'
expect 2 "$weft" run --engine nativ calls.weft square 10
err_has 'did you mean `native`?'
expect 2 "$weft" run --threads 0 calls.weft square 10
err_has 'no number of threads'
expect 2 "$weft" run --threads x calls.weft square 10
cat >traced.weft <<'END'
entry main (n: i64): []i64 = map (\i -> #[trace] (i * i)) (iota n)
END
expect 0 "$weft" run -e native traced.weft 2
err_has '1i64'
# Many kernels are compiled in several files; an entry waits for those that it may call.
{
    many=$(seq 40)
    for i in $many; do
        echo "entry e$i (xs: []f64): []f64 ="
        echo "  map (\\x -> loop y = x + $i while f64.abs y > 2 do (y - x) / (y + $i)) xs"
    done
    echo 'entry all (xs: []f64): [][]f64 = ['
    for i in $many; do echo "  e$i xs,"; done | sed '$s/,$/]/'
} >many.weft
rm -f cache/weft/*.so
expect 0 "$weft" run -e native many.weft e7 '[0.5]'
few=$(ls cache/weft | wc -l)
"$weft" run -e interp many.weft all '[0.5, -2]' >wanted
expect 0 "$weft" run -e native many.weft all '[0.5, -2]'
same stdout "$(cat wanted)"
all=$(ls cache/weft | wc -l)
[ "$few" = 1 ] && [ "$all" -ge 3 ] && good || bad "$few files, then $all"
expect 0 "$weft" run -e native -T 1 many.weft all '[0.5, -2]'
same stdout "$(cat wanted)"
[ "$(ls cache/weft | wc -l)" = "$all" ] && good || bad "grouped anew"
# An interrupt in the middle of a kernel.
cat >endless.weft <<'END'
entry main (n: i64): []i64 = map (\i -> loop x = i while x < n do x - 1) (iota n)
END
expect 0 "$weft" run -e native endless.weft 0
expect 1 timeout --foreground --preserve-status -s INT 1 "$weft" run -e native -T 2 endless.weft 10
err 'weft: interrupted'
unset XDG_CACHE_HOME
expect 0 "$weft" devices
out_has 'cores'
expect 2 "$weft" devices all
expect 0 "$weft" run --engine native --threads 3 --pin calls.weft square 100000
out '333328333350000i64'
expect 2 "$weft" run --pin=2 calls.weft square 10
err_has 'takes no value'
# How long this takes cannot be told before: it is interpreted for a while, then built.
cat >open.weft <<'PROGRAM'
def steps (c: i64): i64 =
  let (_, n) =
    loop (x, n) = (c, 0) while n < 200000 && x != 1 do ((x * 3 + 1) % 1000003, n + 1)
  in n
def main (n: i64): i64 = i64.sum (map (\i -> steps (i + 5)) (iota n))
PROGRAM
expect 0 "$weft" run --trace open.json open.weft 400
out '72986154i64'
expect 0 grep -q '"cat": *"kernel"' open.json
expect 0 "$weft" run open.weft 3
out '600000i64'
# Results beyond the caches, of every width, are stored past them: each element is the
# one that the second entry computes.
cat >far.weft <<'PROGRAM'
def f32_of (i: i64) = f32.i64 (i % 1000) * 0.5f32
def f64_of (i: i64) = f64.i64 i / 3
def u8_of (i: i64) = u8.i64 (i * 7)
entry main (n: i64): ([n]f32, [n]f64, [n]u8) =
  (map f32_of (iota n), map f64_of (iota n), map u8_of (iota n))
entry wrong [n] (xs: [n]f32) (ys: [n]f64) (zs: [n]u8): i64 =
  let is_wrong (i: i64) = xs[i] != f32_of i || ys[i] != f64_of i || zs[i] != u8_of i
  in i64.sum (map (\i -> i64.bool (is_wrong i)) (iota n))
PROGRAM
for threads in 1 3; do
    expect 0 "$weft" run -e native -T $threads far.weft 9000011i64 \
        -o xs.npy -o ys.npy -o zs.npy
    expect 0 "$weft" run -e native far.weft wrong xs.npy ys.npy zs.npy
    same stdout '0i64'
done
rm -f xs.npy ys.npy zs.npy
