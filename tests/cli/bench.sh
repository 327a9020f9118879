# weft bench: which inputs it times, what it counts, the other command, what goes wrong.
cat >sum.weft <<'END'
-- ==
-- entry: sum
-- input { [1, 2, 3] } output { 6i32 }
-- "large" random input { [1000]i32 }
-- nobench input { [4] } output { 4i32 }
-- notest "only here" input { [5] } output { 5i32 }
entry sum (xs: []i32): i32 = i32.sum xs

-- ==
-- entry: nth
-- input { [1, 2] 7i64 } error: outside
-- input { [1, 2] 1i64 } output { 2i32 }
-- input @ two.in
entry nth (xs: []i32) (i: i64): i32 = xs[i]
END
echo '[7, 8] 0i64' >two.in
rows() {  # rows COUNT: how many benchmarks the table has
    count=$(grep -c 'sum\.weft:' stdout)
    if [ "$count" = "$1" ]; then good; else bad "$count rows, expected $1:
$(cat stdout)"; fi
}
expect 0 "$weft" bench -l 0 -r 3 sum.weft
err ''
rows 5
out_has 'sum.weft:3 sum [1, 2, 3]'
out_has 'sum.weft:4 sum large'
out_has 'sum.weft:6 sum only here'
out_has 'sum.weft:12 nth [1, 2] 1i64'
out_has 'sum.weft:13 nth @ two.in'
expect 0 "$weft" bench -l 0 --runs=3 --warm-up=0 --entry=nth sum.weft
rows 2
# The number of runs: no more than asked for when time is up, else until settled.
expect 0 "$weft" bench -l 0 -r 7 --json - -n sum sum.weft
if [ "$(grep -c '"seconds": \[[^,]*\(,[^,]*\)\{6\}\]' stdout)" = 3 ]; then good
else bad "not 7 times each: $(cat stdout)"; fi
if grep -q median stdout && ! grep -q 'benchmark$' stdout; then good; else bad 'a table'; fi

# The other command, whose times are known here, so that every statistic is.
echo 0 >number
cat >other.sh <<'END'
cat >input.$WEFT_ENTRY
number=$(($(cat number) + 1))
echo $number >number
echo "some words" >&2
echo "seconds: $number of its own" >&2
END
expect 0 "$weft" bench -w 0 -r 11 -l 0 -n nth -j times.json --against 'sh other.sh' sum.weft
out_has 'times as long (95 %:'
out_has 'sh other.sh'
command='times.json'
has times.json '"against": {"command": "sh other.sh", "ratio": '
has times.json '"median": 6, "median_low": 2, "median_high": 10, "least": 1, "greatest": 11, "quartiles": [3.5, 8.5],'
has times.json '"seconds": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}'
has times.json '"entry": "nth", "label": null, "bytes": 20, '
same input.nth '[7i32, 8i32]
0i64'
# The ratio is that of the medians, and lies in its range.
awk -F'[:,]' '/"ratio"/ {
        for (i = 1; i < NF; i++) {
            if ($i ~ /"ratio"/) ratio = $(i + 1)
            if ($i ~ /"ratio_low"/) low = $(i + 1)
            if ($i ~ /"ratio_high"/) high = $(i + 1)
        }
        theirs = 1 }
    /"median"/ { for (i = 1; i < NF; i++) if ($i ~ /"median"/) found = $(i + 1)
                 if (theirs) { q = found / ours / ratio
                               bad += q < 0.9999 || q > 1.0001 || low > ratio || ratio > high }
                 else ours = found
                 theirs = 0; n++ }
    END { print n, bad + 0 }' times.json >medians
same medians '4 0'
if command -v python3 >/dev/null; then
    expect 0 python3 -c 'import json; print(len(json.load(open("times.json"))["benchmarks"]))'
    out 2
fi
expect 0 "$weft" bench -w 0 -r 1 -l 0 -n nth -b --against 'head -c 1 >&2; echo; cat' sum.weft
expect 0 "$weft" bench -w 0 -r 1 -l 0 -n nth -b --against 'cat >input.$WEFT_ENTRY' sum.weft
cp input.nth in
expect 0 "$weft" run sum.weft nth
# Weft itself is such a command.
expect 0 "$weft" bench -w 0 -r 3 -l 0 -n nth --against \
    "'$weft' run --time \$WEFT_FILE \$WEFT_ENTRY" sum.weft
out_has 'times as long'

# What goes wrong.
expect 1 "$weft" bench -l 0 -r 1 -n nth --against 'echo oh >&2; exit 3' sum.weft
err_has 'weft bench: the command `echo oh >&2; exit 3` ended with status 3
oh'
expect 1 "$weft" bench -l 0 -r 1 -n nth --against 'kill -9 $$' sum.weft
err_has 'was ended by signal 9'
expect 1 "$weft" bench -n none sum.weft
err_has '`sum.weft` has no input to time'
cat >wrong.weft <<'END'
-- ==
-- input { 1 } output { 3 }
-- input { true }
-- input { 7 }
entry main (x: i32): i32 = assert (x < 5) (x + 1)
END
expect 1 "$weft" bench -l 0 -r 1 wrong.weft sum.weft
rows 5
err_has 'FAIL wrong.weft:2: main
  the result is not the one expected'
err_has 'expected an i32, found `true`'
err_has 'wrong.weft:5:28: error: '
printf -- '-- ==\n-- input { 1 }\nentry main (x: i32): i32 = y\n' >unknown.weft
expect 1 "$weft" bench unknown.weft
err_has 'unknown.weft:3:28: error: '
printf -- '-- ==\n-- entry: other\n-- input { 1 }\nentry main (x: i32): i32 = x\n' >noentry.weft
expect 1 "$weft" bench noentry.weft
err_has 'other'
expect 1 "$weft" bench nowhere.weft
err_has 'nowhere.weft'
# Its times can be written, or nothing is measured.
cp times.json kept.json
expect 1 "$weft" bench --json nowhere/times.json sum.weft
err 'weft bench: cannot write `nowhere/times.json`: No such file or directory'
out ''
expect 1 timeout --foreground --preserve-status -s TERM 0.5 "$weft" bench -r 1000000 -n nth \
    --against 'sleep 9' --json times.json sum.weft
err 'weft: interrupted'
if cmp -s times.json kept.json; then good; else bad 'an interrupted run wrote its times'; fi
expect 1 sh -c "'$weft' bench -l 0 -r 1 sum.weft >/dev/full"
err_has 'the output could not be written'
expect 2 "$weft" bench
expect 2 "$weft" bench -r 0 sum.weft
expect 2 "$weft" bench -r many sum.weft
expect 2 "$weft" bench -l x sum.weft
expect 2 "$weft" bench -b sum.weft
err_has '`--binary` goes with `--against`'
