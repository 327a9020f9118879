# Calls that run beside the interpreter, on several places: what is told is what would
# have happened one call after the other.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache

cat >order.weft <<'END'
#[noinline]
def slow (k: i64) (xs: []i64): []i64 =
  map (\x -> loop y = x for i < k do (y * 31 + i) % 1009) xs
#[noinline]
def pick (xs: []i64) (at: i64): []i64 = map (\i -> xs[i + at]) (iota 3)
-- The slow one fails first in the program, and last in time.
entry both (n: i64): i64 =
  let xs = slow 300000 (iota n)
  let ys = map (\x -> 10 / (x - xs[0])) xs
  let zs = pick (iota n) n
  in ys[1] + zs[0]
-- Nothing waits for what fails, and what comes after never ends by itself.
entry endless (n: i64): i64 =
  let ys = pick (iota n) n
  let zs = map (\x -> loop x = x + 1 while x > 0 do 1 + x % 5) (iota n)
  in ys[0] + zs[0]
entry forever (n: i64): i64 =
  i64.sum (map (\x -> loop x = x + 1 while x > 0 do 1 + x % 5) (iota n))
entry turns (n: i64): i64 =
  let ys = pick (iota n) n
  let z = loop z = 1 while z > 0 do (z * 3 + #[trace] 0) % 1000 + 1
  in ys[0] + z
entry scalars (n: i64): (i64, i64, bool) =
  let a = i64.sum (iota n)
  let b = loop b = 0 for i < 20 do b + i64.sum (map (+ i) (iota n)) % (i + 1)
  let c = if a > b then i64.maximum (iota n) else b
  in (a + c, b, a > b && c % 2 == 0)
entry traced (n: i64): i64 =
  let a = #[trace] (i64.sum (slow 10000 (iota n)))
  let ys = pick (iota n) n
  let b = #[trace] (i64.sum (iota n))
  in a + b + ys[0]
entry passed (n: i64): ([]i64, []i64) =
  let (a, b) = loop (a, b) = (iota n, map (* 2) (iota n)) for i < 7 do
    (map (+ i) b, if i % 2 == 0 then a else map (+ 1) a)
  in (a, b)
entry rows (n: i64): [][]i64 = map (\i -> tabulate (n - 5) (\k -> i + k)) (iota n)
END
same_ahead() {  # same_ahead ENTRY VALUE...: as one call after the other
    "$weft" run -e native work.weft "$@" >wanted 2>wanted_err
    wanted_status=$?
    for place in 'cpu*2' 'cpu*3' 'cpu,cpu:1@0.5' cpu:0,cpu:1; do
        expect $wanted_status "$weft" run -e native -d "$place" work.weft "$@"
        same stdout "$(cat wanted)"
        same stderr "$(cat wanted_err)"
    done
}
mv order.weft work.weft
same_ahead both 3
same_ahead endless 3
same_ahead turns 3
same_ahead scalars 1000
same_ahead scalars 0
same_ahead traced 3
same_ahead passed 5
expect 1 "$weft" run -e native -d 'cpu*2' work.weft both 3
err_has 'division by zero'

# the same in parts, however small; and where things are is no matter
WEFT_SPLIT=0
export WEFT_SPLIT
same_ahead both 3
same_ahead scalars 1000
same_ahead rows 5
same_ahead passed 0
same_ahead passed 5
unset WEFT_SPLIT
for address in cpu:1@0 cpu:1@1.5 cpu:1@ cpu:1@x opencl:0@0.5; do
    expect 1 "$weft" run -d "cpu:0,$address" work.weft passed 1
    err_has 'slowed down to a share of their speed from 0.01 to 1'
done
expect 1 "$weft" run -d cpu:1@0.5,cpu:1 work.weft passed 1
err_has 'device cpu:1 is named twice'

# an interrupt ends what runs, and what waits
expect 1 timeout --foreground --preserve-status -s INT 2 "$weft" run -e native -d 'cpu*2' \
    work.weft forever 3
err 'weft: interrupted'
expect 0 "$weft" run -e native -d 'cpu*2' work.weft passed 1

# calls are made ahead only as memory allows
cat >memory.weft <<'END'
entry main (n: i64) (m: i64): i64 =
  loop s = 0 for i < m do
    let xs = map (\k -> k * i) (iota n)
    let ys = scan (+) 0 xs
    let zs = map (+ 1) (rotate 1 ys)
    in s + i64.sum (map2 (*) zs xs) % 1000
END
mv memory.weft work.weft
same_ahead 200000 30
expect 0 "$weft" run -e native -d 'cpu*2' -m 12M work.weft 200000 30
expect 1 "$weft" run -e native -d 'cpu*2' -m 1M work.weft 200000 30
err_has 'out of memory'

# What has no array to begin with is split as well, inside of loops, too; and on one place
# such a loop runs in parallel.
cat >none.weft <<'END'
entry square (n: i64): [][]i64 =
  tabulate_2d n n (\i j -> loop y = i for k < 50 do (y * 31 + j) % 1009)
entry rounds (n: i64): i64 =
  loop all = 0 for i < 3 do
    all + i64.sum (map (\x -> loop y = x for k < 50 do (y * 31 + all) % 1009) (iota n))
END
mv none.weft work.weft
same_ahead square 200
same_ahead rounds 40000
for entry in 'square 200' 'rounds 40000'; do
    expect 0 "$weft" run -e native -d 'cpu*2' --trace both.json work.weft $entry
    for device in cpu:0 cpu:1; do expect 0 grep -q "\"$device\"" both.json; done
done
expect 0 "$weft" run -e native --threads 2 --trace one.json work.weft rounds 40000
expect 0 grep -q '"worker 1"' one.json
