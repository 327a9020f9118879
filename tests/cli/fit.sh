# Calls that do not fit below a ceiling are refused before they start, with the bytes by
# line; what may fit runs.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache

cat >sums.weft <<'PROGRAM'
entry main (n: i64): i64 =
  let a = scan (+) 0 (iota n)
  let b = scan (+) 1 a
  let c = scan (+) 2 b
  in i64.sum (map2 (+) a c)
entry both [n] (xs: [n]i64) (ys: [n]i64) =
  (scan (+) 0 (map2 (+) xs ys), scan i64.max xs[0] ys)
entry turns (n: i64) (k: i64): i64 =
  i64.sum (loop v = scan (+) 3 (iota n) for i < k do scan (+) i v)
entry choose (n: i64): []i64 =
  let a = scan (+) 0 (iota 1000)
  in if a[n % 1000] >= 0 then [n] else scan (+) 0 (iota n)
PROGRAM
# There is no time to make anything so large: nothing was begun.
# Without a device the interpreter begins, which makes each array anew.
for device in '' cpu; do
    bytes='1.60 TB of memory at once' lines='800 GB of line 2, 800 GB of line 3'
    [ -z "$device" ] || bytes='2.40 TB of memory at once' lines="$lines, 800 GB of line 4"
    expect 1 "$weft" run -T 2 ${device:+--device=$device} -m 100M sums.weft main 100000000000
    err "error: \`main\` needs at least $bytes, and the ceiling is 105 MB: $lines"
done
# What devices of the host's memory cannot hold is for the cores alone, or for nobody.
expect 1 "$weft" run -T 1 --device cpu:0,cpu:1 -m 100M sums.weft main 100000000000
err "error: \`main\` needs at least $bytes, and the ceiling is 105 MB: $lines"
expect 1 "$weft" run -m 100M sums.weft turns 100000000000 5
err_has '`turns` needs at least'
# Arguments count, beside what is made of them.
expect 0 "$weft" data random '[1000000]i64' -o xs.bin
expect 1 "$weft" run -m 28M sums.weft both xs.bin xs.bin
err 'error: `both` needs at least 32.0 MB of memory at once, and the ceiling is 29.4 MB: 16.0 MB of arguments, 16.0 MB of line 7'
# What may be gone in time runs: five arrays in turn, an arm that is not taken.
expect 0 "$weft" run -m 48M sums.weft turns 1000000 5
expect 0 "$weft" run -m 64M sums.weft main 1000000
expect 0 "$weft" run -m 64M sums.weft choose 100000000000
out '[100000000000i64]'
# What was tried and found no memory says what it holds, besides where.
cat >sorted.weft <<'PROGRAM'
entry main (n: i64): i64 =
  let a = i64.sort (map (% 1013) (iota n))
  in a[n / 2]
PROGRAM
expect 1 "$weft" run -T 1 -m 24M sorted.weft main 1500000
err_has 'sorted.weft:2:11: error: out of memory'
err_has '; by its plan `main` holds 24.0 MB at once, and the ceiling is 25.2 MB: 24.0 MB of line 2'
# On cores it is known what a kernel makes, and takes of the host's memory meanwhile,
# and what the program itself does.
for verb in explain run; do
    for device in cpu cpu:0,cpu:1; do
        expect 1 "$weft" $verb -T 2 --device $device -m 20M sums.weft turns 1000000 5
        err 'error: `turns` needs at least 24.0 MB of memory at once, and the ceiling is 21.0 MB: 24.0 MB of line 9'
        expect 1 "$weft" $verb -T 2 --device $device -m 17M sums.weft main 1000000
        err 'error: `main` needs at least 24.0 MB of memory at once, and the ceiling is 17.8 MB: 8.00 MB of line 2, 8.00 MB of line 3, 8.00 MB of line 4'
    done
    expect 1 "$weft" $verb -T 2 --device cpu -m 23500K sums.weft main 1000000
    err_has ' for the program and between arrays'
done
expect 0 "$weft" run -T 2 --device cpu -m 26M sums.weft main 1000000
# Without a ceiling, and in the interpreter, nobody asks.
expect 1 "$weft" run -e interp -m 100M sums.weft main 100000000000
err_has 'sums.weft:2:23: error: out of memory: 800000000000 bytes were wanted'
# What several devices have no room for is for the host's cores alone; what these have
# none for is refused, by explain and run alike.
cat >little.weft <<'PROGRAM'
def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009
entry main (n: i64): i64 =
  let a = map busy (iota n)
  let b = map (\i -> busy (a[i * 7 % n])) (iota n)
  in i64.sum (map2 (\x y -> busy (x + y)) a b)
PROGRAM
expect 0 "$weft" explain -T 2 --device cpu:0,cpu:1 -m 18M little.weft 1000000
out_has '`main` on cpu
'
out_has 'none is cut: there is memory for one device alone'
for devices in cpu:0,cpu:1 'cpu*2'; do
    for most in 18M 20M 24M; do
        expect 0 "$weft" run -T 2 --device "$devices" -m $most little.weft 1000000
        out '504000745i64'
    done
    for command in explain run; do
        expect 1 "$weft" $command -T 2 --device "$devices" -m 28M sums.weft both xs.bin xs.bin
        err 'error: `both` needs at least 32.0 MB of memory at once, and the ceiling is 29.4 MB: 16.0 MB of arguments, 16.0 MB of line 7'
    done
done
# What the cores have room for as one device they have as two, but for the code of parts.
cat >four.weft <<'PROGRAM'
entry chain (xs: []i64): []i64 =
  let a = scan (+) 0 xs
  let b = scan i64.max 3 (map (\i -> a[i * 7 % length xs]) (indices xs))
  let c = map (\i -> a[i * 5 % length xs] + b[i * 3 % length xs]) (indices xs)
  in map2 (+) b c
entry sorted (xs: []i64): []i64 =
  map2 (+) xs (i64.sort (map (\x -> (x * 7919) % 1013) xs))
entry stencil (xs: []i64): []i64 =
  loop ys = xs for k < 4 do
    map (\i -> ys[i] + ys[i * 3 % length ys] + k) (indices ys)
entry scattered (xs: []i64): []i64 =
  scatter (map (+ 1) xs) (map (\x -> x * 7 % 50000 - 5) xs) (map (* 3) xs)
PROGRAM
expect 0 "$weft" data random '[220000]i64' -o chain.bin
expect 0 "$weft" data random '[290000]i64' -o sorted.bin
for entry in chain sorted; do
    for devices in cpu 'cpu*2'; do
        expect 0 "$weft" run -T 2 --device "$devices" -m 9M four.weft $entry $entry.bin -o "$devices.bin"
    done
    expect 0 cmp cpu.bin 'cpu*2.bin'
done
# A device that is launched on is told what sorting takes beside what is sorted; explain
# refuses what run refuses, and says where a run may find no memory.
POCL_DEVICES='pthread pthread'
export POCL_DEVICES
if "$weft" devices | grep -q '^opencl:1'; then
    expect 0 "$weft" data random '[100000]i64' -o few.bin
    expect 0 "$weft" data random '[150000]i64' -o many.bin
    for devices in opencl:0@3M opencl:0@3M,opencl:1@3M; do
        expect 0 "$weft" run --device $devices four.weft sorted few.bin -o few.out
        # xs, what is sorted, made and merged from, counts, and 28 KiB
        expect 0 "$weft" explain --device ${devices%%,*} four.weft sorted few.bin
        out_has 'opencl:0 holds 3.34 MB at most'
        for command in explain run; do
            expect 1 "$weft" $command --device $devices four.weft sorted many.bin
            err_has 'error: `sorted` needs at least 3.'
            err_has ' of memory at once on device opencl:0, which has 3.15 MB: '
        done
    done
    for command in explain run; do # the host joins all parts, beside the program
        expect 1 "$weft" $command --device opencl:0,opencl:1 -m 9M sums.weft turns 1000000 5
        err_has 'ceiling is 9.44 MB: 8.00 MB of line 9, '
        err_has ' for the program and between arrays'
    done
    expect 0 "$weft" explain --device opencl:0,opencl:1 -m 14M sums.weft main 1000000
    expect 0 "$weft" explain --device opencl:0,opencl:1 -m 5500K four.weft chain chain.bin
    out_has ', and the ceiling is 5.63 MB: a run may find no memory'
    # What is looked at last in an arm is free in it; the next turn has room for its own.
    expect 0 "$weft" run --device opencl:0 -m 13M sums.weft turns 1000000 5
    out '6856422281720771848i64'
    # Tables, and the private memory of turns, are there beside all else.
    { printf 'def t: []i64 = ['; seq -s, 1 7 70000; cat <<'PROGRAM'
]
entry main (xs: []i64): []i64 = map (\x -> t[x & 8191] + x) xs
entry own (n: i64) (k: i64): []i64 =
  map (\i ->
    let ys = scan (+) i (iota k)
    in i64.sum (loop zs = copy ys for j < k - 1 do
                  zs with [(j * 7 + i) % k] = zs[j + 1] + ys[(i * j) % k])) (iota n)
PROGRAM
    } >table.weft
    expect 0 "$weft" data random '[60000]i64' -o table.bin
    for verb in explain run; do
        expect 1 "$weft" $verb --device opencl:0@150K table.weft main table.bin
        err_has '`main` needs at least 1'
        expect 1 "$weft" $verb --device opencl:0@90K table.weft own 100 4000
        err_has '`own` needs at least '
    done
    expect 0 "$weft" run --device opencl:0@250K table.weft main table.bin -o table.out
    expect 0 "$weft" run --device opencl:0@400K table.weft own 100 4000 -o own.out
fi
