# Where programs run: the same answers and errors on cpu*K, cpu:I, OpenCL and several at once;
# what cannot be is said, and nothing else runs instead.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache
# Sanitizers stumble over threads that a driver leaves running when they look for leaks;
# the unit tests of drivers and places do that.
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
has_opencl=$("$weft" devices | grep -c '^opencl:0 .*[^)]$')
places='cpu*3 cpu:0,cpu:1 cpu,cpu:1'
if [ "$has_opencl" = 1 ]; then places="$places opencl:0 cpu*2,opencl:0"
else skipped=$((skipped + 1)); fi

cat >work.weft <<'END'
#[noinline]
def g (xs: []i64) (i: i64): i64 = 10 / xs[i]
entry roots (n: i64): ([]f64, f64, []f64, i64) =
  let xs = map (\i -> f64.i64 i / 3) (iota n)
  let ys = map f64.sqrt xs
  let zs = scan (+) 0 ys
  in (ys, f64.sum (map2 (*) xs zs), zs, i64.sum (map (\i -> i % 7) (iota n)))
entry apart (n: i64): ([]i64, []i64, []i64) =
  (scan (+) 0 (iota n), scan i64.max 0 (map (% 7) (iota (n + 1))), scan (*) 1 (iota (n + 2)))
entry rows (n: i64) (m: i64): [][]i32 =
  map (\i -> map (\j -> i32.i64 (i * 10 + j)) (iota m)) (iota n)
entry steps (n: i64): []f32 =
  loop xs = map f32.i64 (iota 50) for i < n do
    map (\x -> (x + 1) / f32.i64 (i + 2)) xs
entry hist (n: i64): []i64 =
  reduce_by_index (replicate 5 0) (+) 0 (map (% 6) (iota n)) (iota n)
entry odd (n: i64): []i64 = filter (\x -> x % 2 == 1) (map (\x -> x * x) (iota n))
entry inplace (n: i64): []i64 =
  let xs = replicate n 1
  in loop xs for i < n - 1 do xs with [i + 1] = xs[i] + i
entry table (n: i64): []u8 = map (\i -> [3u8, 1, 4, 1, 5][i % 5]) (iota n)
entry least (xs: []i64): []i64 = map (g xs) (iota (length xs))
entry joined (n: i64): ([]i32, []f32) =
  let is = map (% 7) (iota n)
  in ( reduce_by_index (replicate 6 1) (+) 0 is (map i32.i64 (iota n))
     , scatter (replicate 9 0) is (map f32.i64 (iota n)) )
entry traced (n: i64): i64 = #[trace] (n + 1) + i64.sum (map (\i -> #[trace] (i * n)) (iota n))
entry chosen (b: bool) (n: i64): []i64 =
  if b then map (+ 1) (iota n) else reverse (scan (+) 0 (iota n))
END
everywhere() {  # everywhere ENTRY VALUE...: as the interpreter answers
    "$weft" run -e interp work.weft "$@" >wanted 2>wanted_err
    wanted_status=$?
    for place in $places; do
        expect $wanted_status "$weft" run -d "$place" work.weft "$@"
        same stdout "$(cat wanted)"
        same stderr "$(cat wanted_err)"
    done
}
# PoCL takes its time to build, once
if [ "$has_opencl" = 1 ]; then
    "$weft" run -d opencl:0 work.weft rows 1 1 >stdout 2>&1
    "$weft" run -d 'cpu*2,opencl:0' work.weft roots 1 >stdout 2>&1
    "$weft" run -d 'cpu*2,opencl:0' work.weft apart 1 >stdout 2>&1
fi
everywhere roots 0
everywhere roots 1
everywhere roots 20000
everywhere rows 0 3
everywhere rows 5 7
everywhere steps 9
everywhere hist 1000
everywhere joined 3
everywhere joined 20000
everywhere odd 1001
everywhere inplace 100
everywhere table 12
everywhere least '[1, 2, 3]'
everywhere least '[1, 2, 0, 0]'
everywhere traced 3
everywhere chosen true 5
everywhere chosen false 5

# Sums of more than a block, which go by blocks where cores are among the devices.
if [ "$has_opencl" = 1 ]; then
    cat >long.weft <<'END'
entry main (n: i64): [][][]f64 =
  let xss = tabulate_3d 4 n 16 (\i j k -> f64.i64 ((i * 7 + j * 3 + k * k) % 11) / 7)
  in map (\xs -> map (\x -> map (\y -> f64.sum (map2 (*) x y)) (transpose xs)) (transpose xs))
         xss
END
    "$weft" run -e interp long.weft 8300 >wanted
    WEFT_SPLIT=0 "$weft" run -d cpu,opencl:0 long.weft 1 >stdout 2>&1
    WEFT_SPLIT=0 expect 0 "$weft" run -d cpu,opencl:0 long.weft 8300
    same stdout "$(cat wanted)"
fi

# several devices share the work, and the trace shows it
expect 0 "$weft" run -d 'cpu*2' --trace both.json work.weft roots 1000
for device in cpu:0 cpu:1; do
    expect 0 grep -q "\"$device\"" both.json
done
if [ "$has_opencl" = 1 ]; then
    expect 0 "$weft" run -d 'cpu*2,opencl:0' --trace three.json work.weft apart 20000
    cat >rows.py <<'END'
import collections, json
events = json.load(open("three.json"))["traceEvents"]
rows = {e["tid"]: e["args"]["name"] for e in events
        if e["ph"] == "M" and e["name"] == "thread_name"}
work = collections.Counter(rows[e["tid"]] for e in events
                           if e["ph"] == "X" and e.get("cat") == "kernel")
print(sorted(row for row in work if ":" in row))
END
    expect 0 python3 rows.py
    out "['cpu:0', 'cpu:1', 'opencl:0']"

    # they work at the same time: a launch keeps nobody waiting
    cat >uneven.weft <<'END'
entry main (n: i64): i64 =
  i64.sum (map (\x -> loop y = x for i < 2000 do (y * 31 + i) % 1009) (iota n))
END
    expect 0 "$weft" run -d 'cpu:0,opencl:0' uneven.weft 1
    expect 0 "$weft" run -d 'cpu:0,opencl:0' --trace both.json uneven.weft 50000
    cat >both.py <<'END'
import json
events = json.load(open("both.json"))["traceEvents"]
rows = {e["tid"]: e["args"]["name"] for e in events
        if e["ph"] == "M" and e["name"] == "thread_name"}
work = {row: [(e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X"
              and e.get("cat") == "kernel" and rows[e["tid"]] == row]
        for row in ("cpu:0", "opencl:0")}
print(any(a < d and c < b for a, b in work["cpu:0"] for c, d in work["opencl:0"]))
END
    expect 0 python3 both.py
    out True
fi

# where the time goes is told on a device as elsewhere
if [ "$has_opencl" = 1 ]; then
    expect 0 "$weft" run -d opencl:0 --times --profile --trace one.json work.weft roots 2000
    for row in '  emit OpenCL' '  build for devices' '  open devices' '  (compile)' \
        '  (from the device)' '  work.weft:5  let ys = map f64.sqrt xs' '  in all'; do
        err_has "$row"
    done
    cat >lines.py <<'END'
import json
events = json.load(open("one.json"))["traceEvents"]
rows = {e["tid"]: e["args"]["name"] for e in events
        if e["ph"] == "M" and e["name"] == "thread_name"}
print(sorted({e["args"]["at"] for e in events
              if e.get("cat") == "kernel" and rows[e["tid"]] == "opencl:0"}))
END
    expect 0 python3 lines.py
    out_has "'work.weft:5:"
fi

# an interrupt acts between the parts of a launch, which would take minutes
if [ "$has_opencl" = 1 ]; then
    cat >long.weft <<'END'
entry main (n: i64): i64 =
  i64.sum (map (\i -> loop x = i for k < 100000 do x * 31 ^ k) (iota n))
END
    expect 0 "$weft" run -d opencl:0 long.weft 1
    expect 1 timeout --foreground --preserve-status -s INT 3 "$weft" run -d opencl:0 long.weft 10000000
    out ''
    err 'weft: interrupted'
fi

# ... and once a driver has compiled, which cannot be cut short; what it made is kept whole.
# What is compiled has atomics of 64 bits where the device has.
compiled() {  # compiled STATUS: whether the code that a driver was given has them
    rm -rf slow && mkdir slow slow/cache
    XDG_CACHE_HOME=$PWD/slow/cache FAKE_SLOW=$PWD/slow/code.cl \
        WEFT_OPENCL=$(dirname "$weft")/unit/fake_opencl.so \
        "$weft" run -d opencl:0 work.weft hist 20000 -o slow/out.npy >stdout 2>stderr &
    running=$!
    for tick in $(seq 100); do
        grep -q '^}' slow/code.cl 2>/dev/null && break
        sleep 0.05
    done
    command='run while a driver compiles'
    kill -TERM $running
    sleep 0.1
    if kill -0 $running 2>/dev/null; then good; else bad 'it ended before the driver'; fi
    grep -q 'weft_atomic_add_64(&' slow/code.cl
    status=$?
    [ $status = "$1" ] && good || bad "atomics of 64 bits: status $status, expected $1"
    rm slow/code.cl
    wait $running
    status=$?
    [ $status = 1 ] && good || bad "status $status, expected 1"
    same stdout ''
    same stderr 'weft: interrupted'
    left=$(find slow -name 'tmp*' -o -name out.npy)
    [ -z "$left" ] && good || bad "left behind: $left"
}
if [ -f "$(dirname "$weft")/unit/fake_opencl.so" ]; then
    compiled 0
    export FAKE_LACKS=atomics
    compiled 1
    unset FAKE_LACKS
fi

# what cannot be
refused() {  # refused TEXT OPTION...
    text=$1
    shift
    expect 1 "$weft" run "$@" work.weft rows 1 1
    err_has "$text"
    same stdout ''
}
refused 'is no device' -d gpu
expect 2 "$weft" run -d '' work.weft rows 1 1
err_has 'no device is named'
refused 'the cores can be 1 to 64 devices' -d 'cpu*0'
refused 'the cores can be 1 to 64 devices' -d 'cpu*x'
refused 'device cpu:0 is named twice' -d 'cpu*2,cpu:0'
refused 'a device of `cpu,` has no name' -d 'cpu,'
refused 'a device of `,` has no name' -d ','
refused 'device opencl:99 cannot be used' -d opencl:99
refused 'the interpreter runs on no device' -e interp -d cpu
if [ "$has_opencl" = 1 ]; then
    refused 'the native engine does not run on device opencl:0' -e native -d opencl:0
fi

# memory: copies on devices count, and room is made before it is an error
expect 0 "$weft" run -d 'cpu*2' -m 20M work.weft roots 20000
expect 1 "$weft" run -d 'cpu*2' -m 1M work.weft roots 200000
err_has 'out of memory'

# tests and benchmarks
cat >tested.weft <<'END'
-- ==
-- entry: main
-- input { 3i64 } output { [0i64, 1i64, 4i64] }
-- input { -1i64 } error: negative
entry main (n: i64) = map (\i -> i * i) (iota n)
END
for place in $places; do
    expect 0 "$weft" test -d "$place" tested.weft
    out '2 passed, 0 failed'
done
expect 0 "$weft" bench -d 'cpu*2' -r 2 tested.weft
unset ASAN_OPTIONS
