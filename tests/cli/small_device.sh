# A device with little memory: what is too much for it runs in parts, one after the
# other, or elsewhere, with the same bits; what is too much even so is refused before it
# starts, with the bytes by line.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache
ASAN_OPTIONS=detect_leaks=0 # of a driver
export ASAN_OPTIONS

cat >one.weft <<'END'
entry main (n: i64): i64 = i64.sum (iota n)
END
for address in opencl:0@ opencl:0@0M opencl:0@x opencl:0@64 opencl:0@1.5G opencl:0@2GB \
    opencl:0@99999999999G cpu@64M cpu:1@64M; do
    expect 1 "$weft" run -d "$address" one.weft 1
    err_has 'have a part of their memory, as in opencl:0@2G'
done

# Arrays of 2 MB.
cat >small.weft <<'END'
entry mapped [n] (xs: [n]f64): [n]f64 = map (\x -> f64.sqrt x * 3 + 1) xs
entry total [n] (xs: [n]f64): (f64, f64, i64) =
  let ys = map (\x -> f64.sqrt x * 3 + 1) xs
  in (f64.sum ys, f64.maximum ys, i64.sum (map i64.f64 ys))
entry chain [n] (xs: [n]f64): []i64 =
  let ys = scan (+) 0 (map (\x -> i64.f64 (x * 1009) - 300) xs)
  in filter (> 900) (map2 (\y i -> (y * i) % 1013) ys (iota n))
entry bins [n] (xs: [n]f64): ([64]i64, [64]i64) =
  let at = map (\x -> i64.f64 (x * 70) - 2) xs
  in (hist (+) 0 64 at (map (\x -> i64.f64 (x * 9)) xs),
      hist i64.max 3 64 at (map (\x -> i64.f64 (x * 1e9)) xs))
entry line [n] (xs: [n]f64): []f64 =
  map3 (\a b c -> a + 2 * b + c) (take (n - 2) xs) (take (n - 2) (drop 1 xs)) (drop 2 xs)
entry plane [n] (xs: [n]f64): [512][512]f64 =
  let a = unflatten (take 262144 xs :> [512 * 512]f64)
  let at i j = if i < 0 || j < 0 || i > 511 || j > 511 then 0 else a[i, j]
  in tabulate_2d 512 512 (\i j -> at (i - 1) j + at (i + 1) j + at i (j - 1) + at i (j + 1))
entry scattered [n] (xs: [n]f64): [1000]f64 =
  scatter (replicate 1000 0.5) (map (\i -> (i * 7919 + 3) % 262147 - 3) (iota n)) xs
entry turns [n] (xs: [n]f64): [n]f64 =
  loop ys = xs for i < 3 do map (\y -> y * 0.5 + f64.i64 i) ys
entry fails [n] (xs: [n]f64): []i64 = map (\i -> 10 / (i - 250000)) (iota n)
entry traced [n] (xs: [n]f64): f64 = #[trace] (f64.sum (map f64.sqrt xs))
entry sorted [n] (xs: [n]f64): [n]f64 = f64.sort xs
END
expect 0 "$weft" data random '[262144]f64' -o xs.bin
on_small() {  # on_small DEVICES ENTRY: as the interpreter answers
    rm -f found.bin wanted.bin
    "$weft" run -e interp small.weft "$2" xs.bin -o wanted.bin >wanted 2>wanted_err
    wanted_status=$?
    expect $wanted_status "$weft" run -d "$1" small.weft "$2" xs.bin -o found.bin
    same stdout "$(cat wanted)"
    same stderr "$(cat wanted_err)"
    if [ ! -e wanted.bin ] || cmp -s found.bin wanted.bin; then good
    else bad "other bits"; fi
}
if [ "$("$weft" devices | grep -c '^opencl:0 .*[^)]$')" = 1 ]; then
    for entry in mapped total chain bins line plane scattered turns fails traced; do
        "$weft" run -d opencl:0@1M small.weft $entry xs.bin >stdout 2>&1 # builds take time
        "$weft" run -d cpu,opencl:0@1M small.weft $entry xs.bin >stdout 2>&1
        on_small opencl:0@3M $entry
        [ $entry = plane ] || on_small opencl:0@1200K $entry
        on_small cpu,opencl:0@64K $entry
    done
    # nothing is cut where there is enough
    expect 0 "$weft" explain -d opencl:0@3M small.weft mapped xs.bin
    out_has 'cut in 2, one part after the other'
    expect 0 "$weft" explain -d opencl:0@1M small.weft mapped xs.bin
    out_has 'cut in 8, one part after the other' # four are 1 MiB without what launches take
    expect 0 "$weft" explain -d opencl:0@64M small.weft mapped xs.bin
    out_has 'whole, if the device has memory enough; else in parts'
    # what cannot be cut, or not enough
    expect 1 "$weft" run -d opencl:0@1M small.weft sorted xs.bin
    err 'error: `sorted` needs at least 6.60 MB of memory at once on device opencl:0, which has 1.05 MB: 2.10 MB of arguments, 4.50 MB of line 24'
    expect 1 "$weft" run -d opencl:0@1M small.weft plane xs.bin
    err_has 'on device opencl:0, which has 1.05 MB: 2.10 MB of arguments'
    expect 1 "$weft" run -d opencl:0@100K small.weft mapped xs.bin
    err 'error: `mapped` needs at least 291 kB of memory at once on device opencl:0, which has 102 kB: 131 kB of arguments, 160 kB of line 1'
    on_small cpu,opencl:0@64K sorted
    # two of them
    if [ "$(POCL_DEVICES='pthread pthread' "$weft" devices | grep -c '^opencl:1 .*[^)]$')" = 1 ]; then
        POCL_DEVICES='pthread pthread'
        export POCL_DEVICES
        for entry in mapped chain bins turns fails traced; do
            on_small opencl:0@1M,opencl:1@600K $entry
        done
        on_small opencl:0@3M,opencl:1@3M total
        expect 0 "$weft" explain -d opencl:0@1M,opencl:1@600K small.weft mapped xs.bin
        out_has 'cut in 8, each where there is room'
        expect 0 "$weft" explain -d opencl:0@64M,opencl:1@64M small.weft mapped xs.bin
        out_has 'cut in 2, each where there is room'
        expect 0 "$weft" explain -d opencl:0@64M,opencl:1@64M small.weft traced '[1.0, 4.0]'
        out_has 'whole, if it is little, and fits a device; else in parts'
        expect 1 "$weft" run -d opencl:0@600K,opencl:1@1M small.weft plane xs.bin
        err_has 'on device opencl:1, which has 1.05 MB: 2.10 MB of arguments'
        unset POCL_DEVICES
    fi
else
    skipped=$((skipped + 1))
fi
