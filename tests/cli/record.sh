# Where the time went: --times, --profile, --trace; and traced values, which come in the
# same order from every engine.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache
cat >work.weft <<'PROGRAM'
-- ==
-- input { 30000 }
-- input { 20 }
def slow (x: f64): f64 = loop y = x for _i < 20i32 do y + f64.sin y
entry main (n: i64): f64 =
  let xs = map (\i -> f64.i64 i) (iota n)
  let ys = loop xs = xs for _k < 3i32 do map slow xs
  in f64.sum ys
entry wrong (n: i64): i64 = loop s = 1 for i < n do s / (5 - i)
PROGRAM
# Times and profile: each adds up to its last row.
cat >adds_up.awk <<'AWK'
function seconds(unit) { return unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : 1e-9 }
$5 == "" || $1 !~ /^[0-9.]+$/ || $4 != "%" { next }
/in all$/ { all += $1 * seconds($2); next }
{ sum += $1 * seconds($2) }
END { if (all <= 0 || sum < 0.97 * all || sum > 1.03 * all) { print "sum " sum ", in all " all; exit 1 } }
AWK
adds_up() {
    if awk -f adds_up.awk stderr >sums; then good
    else bad "$(cat sums stderr)"; fi
}
for engine in 'interp' 'native -T 1' 'native -T 2' 'auto'; do
    expect 0 "$weft" run -e $engine --times work.weft 20
    adds_up
    out '191.63715186897736f64'
    err_has '  time   share  phase'
    for phase in parse check lower inline dce stamp run read print 'in all'; do
        err_has " %  $phase"
    done
    expect 0 "$weft" run --engine $engine --profile work.weft main 20
    adds_up
    err_has '(compile)'
    err_has '(host)'
    err_has 'work.weft:7'
done
expect 0 "$weft" run -e native --profile work.weft 30000
if grep -qE ' 1 +480 kB +[0-9.]+  work.weft:7  let ys = loop' stderr; then good
else bad "$(cat stderr)"; fi
expect 0 "$weft" run -e interp --profile work.weft 20
err_has 'work.weft:7 (interpreted)  let ys = loop'
# A run that fails has spent its time, too.
expect 1 "$weft" run -e interp --profile work.weft wrong 9
err_has 'division by zero'
err_has 'in all'
err_has 'work.weft:9 (interpreted)  entry wrong'
cat >endless.weft <<'PROGRAM'
entry main (n: i64): []i64 = map (\i -> loop x = i while x < n do x - 1) (iota n)
PROGRAM
for engine in interp native; do
    expect 0 "$weft" run -e $engine endless.weft 0 # which leaves nothing to build
    expect 1 timeout --foreground --preserve-status -s INT 1 \
        "$weft" run -e $engine --profile endless.weft 3
    adds_up
    err_has 'weft: interrupted'
    err_has 'endless.weft:1 '
done
expect 0 "$weft" dump --times work.weft
adds_up
err_has ' %  simplify'
expect 0 "$weft" dump --times --stage=c work.weft
err_has ' %  loops'
err_has ' %  emit'
expect 1 "$weft" dump --times absent.weft
# Work that is worth it is not begun by the interpreter, however few turns it has.
cat >inner.weft <<'PROGRAM'
entry main (m: i64): i64 =
  i64.sum (map (\i -> loop x = i for _j < m do (x * 5 + 1) % 1009) (iota 300))
PROGRAM
expect 0 "$weft" run --profile inner.weft 100000
err_has '(wait for the build)'
# Traces: JSON, in which the events of a row nest or follow each other, and the workers
# share the work.
cat >look.py <<'PYTHON'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
rows = {name: [] for name in names.values()}
for e in events:
    if e["ph"] == "X":
        rows[names[e["tid"]]].append(
            (round(e["ts"] * 1000), -round(e["dur"] * 1000), e["cat"], e["name"], e["args"]))
for row in rows.values():
    open_until = []
    for begin, length, *_ in sorted(row, key=lambda e: e[:2]):
        end = begin - length
        while open_until and open_until[-1] <= begin: open_until.pop()
        assert not open_until or end <= open_until[-1], (begin, end, open_until)
        open_until.append(end)
turns = {}
for name, row in rows.items():
    for begin, length, kind, title, args in row:
        if kind == "loop": turns.setdefault(title, []).append((name, args["turns"]))
for title, parts in sorted(turns.items()):
    print(title, sum(t for _, t in parts), *sorted({name for name, _ in parts}))
for kind in sys.argv[2:]:
    print(kind, *sorted({title for row in rows.values() for _, _, k, title, _ in row if k == kind}))
PYTHON
look() { expect 0 python3 look.py "$@"; }
if command -v python3 >/dev/null; then
    # The loop is one kernel: three maps in one buffer, that of what it begins with. A
    # worker may come late on a busy machine.
    for n in 30000 100000 300000; do
        expect 0 "$weft" run -e native -T 2 --trace trace.json work.weft $n
        err ''
        look trace.json call kernel build
        out_has 'call compile main print read'
        out_has 'kernel for work.weft:7 map work.weft:6 reduce work.weft:8'
        out_has "map work.weft:6 $n worker 0"
        if grep -q "for work.weft:7 $((3 * n)) worker 0 worker 1" stdout; then break; fi
    done
    out_has "for work.weft:7 $((3 * n)) worker 0 worker 1"
    expect 0 python3 -m json.tool trace.json
    expect 0 "$weft" run -e interp --trace trace.json work.weft 20
    look trace.json interpret kernel
    out_has 'for work.weft:7'
    expect 0 "$weft" run --trace=trace.json work.weft main 20
    look trace.json call
    out 'call compile main print read'
    expect 1 "$weft" run -e native --trace trace.json work.weft wrong 9
    look trace.json call
    out 'call compile read wrong'
    expect 0 "$weft" bench -e native -T 2 -r 3 -w 1 -l 0 --trace trace.json work.weft
    look trace.json call
    out_has 'for work.weft:7 270000 worker 0'
    out_has 'call main'
    # A name that JSON has no plain form for.
    odd=$(printf 'odd "\\\\\001\351.weft')
    cp work.weft "$odd"
    expect 0 "$weft" run --trace trace.json "$odd" 20
    look trace.json call
else
    skipped=$((skipped + 1))
fi
# Files that cannot be written: told before the program runs, or as soon as it fails.
expect 1 "$weft" run --trace absent/trace.json work.weft 20
err 'weft run: cannot write `absent/trace.json`: No such file or directory'
expect 1 "$weft" bench --trace . work.weft
err_has 'weft bench: cannot write `.`: Is a directory'
if [ -c /dev/full ]; then
    expect 1 "$weft" run --trace /dev/full work.weft 20
    err 'weft run: cannot write `/dev/full`: No space left on device'
fi
expect 0 "$weft" run --trace /dev/null work.weft 20
expect 2 "$weft" run --trace
expect 2 "$weft" run --profil --times=3 work.weft
if ls | grep -q 'trace\.json\.'; then bad "left behind: $(ls)"; else good; fi
# Bench: the phases up to the runs, the lines of the runs.
expect 0 "$weft" bench -e native -r 4 -w 1 -l 0 --times --profile work.weft
err_has 'work.weft:2 main'
err_has 'work.weft:3 main'
err_has ' %  parse'
if grep -qE ' 4 +1\.92 MB +[0-9.]+  work.weft:7 ' stderr; then good
else bad "$(cat stderr)"; fi
if grep -q '(compile)' stderr; then bad "$(cat stderr)"; else good; fi

# Traced values.
cat >traced.weft <<'PROGRAM'
entry inloop (n: i64): i64 =
  loop s = 0 for k < 3i64 do s + i64.sum (map (\i -> #[trace] (i * k)) (iota n))
def f (x: i64): i64 = #[trace] (x + 1)
def g (x: i64): i64 = f (#[trace] (f x * 2))
entry nested (n: i64): []i64 = map g (iota n)
#[noinline]
def h (x: i64): i64 = #[trace] (x * x)
entry apart (n: i64): [][]i64 = map (\i -> map (\j -> h (i + j)) (iota n)) (iota n)
entry reduced (n: i64): i64 = reduce (\a b -> #[trace] (a + b)) 0 (iota n)
entry scanned (n: i64): []i64 = scan (\a b -> #[trace] (a + b)) 0 (iota n)
entry counted (n: i64): []i64 =
  reduce_by_index (replicate 3 0) (\a b -> #[trace] (a + b)) 0 (map (% 3) (iota n)) (iota n)
entry filtered (n: i64): []i64 = filter (\x -> #[trace] (x % 2 == 0)) (iota n)
entry branches (n: i64): i64 =
  i64.sum (map (\i -> if i % 2 == 0 then #[trace] i else h i) (iota n))
entry guard (n: i64): i64 = loop x = n while #[trace] (x > 1) do x / 2
entry arrays (n: i64): i64 =
  i64.sum (map (\i -> let xs = #[trace] (iota i) in i64.sum (map (* 2) xs)) (iota n))
#[noinline]
def silent (xs: []i64): i64 = i64.sum (map (\x -> x * x) xs)
entry mixed (n: i64): i64 =
  loop s = 0 for k < 3i64 do #[trace] (s + silent (iota (n + k)))
#[noinline]
def loops (n: i64): i64 = loop s = 0 for k < n do s + h k
entry calls (n: i64): []i64 = map loops (iota n)
entry stops (n: i64): []i64 = map (\i -> #[trace] i + (if i == 3 then i / 0 else 0)) (iota n)
PROGRAM
for entry in inloop nested apart reduced scanned counted filtered branches guard arrays \
    mixed calls stops; do
    status=0
    if [ $entry = stops ]; then wanted=1; else wanted=0; fi
    expect $wanted "$weft" run -e interp traced.weft $entry 6
    if [ "$(grep -c '^traced.weft:[0-9:]*: [^e]' stderr)" -ge 3 ]; then good
    else bad "$(cat stderr)"; fi
    mv stdout wanted_out
    mv stderr wanted_err
    for engine in 'native -T 1' 'native -T 3' 'auto'; do
        expect $wanted "$weft" run -e $engine traced.weft $entry 6
        same stdout "$(cat wanted_out)"
        same stderr "$(cat wanted_err)"
    done
done
expect 0 "$weft" run -e native traced.weft nested 2
err 'traced.weft:3:23: 1i64
traced.weft:4:26: 2i64
traced.weft:3:23: 3i64
traced.weft:3:23: 2i64
traced.weft:4:26: 4i64
traced.weft:3:23: 5i64'
