# weft test: every form of test block, and every way to fail.
count() { out_has "$1"; }
cat >good.weft <<'END'
-- Sums.
-- ==
-- entry: main
-- tags { quick }
-- input { [1, 2, 3] } output { 6i32 }
-- compiled input { empty([0]i32) }
-- output { 0 }
-- nobench "named" input @ data/in.txt output @ data/out.txt
-- random input { [100]i32 }
-- random input { [10]i32 } auto output
-- script input { ints 3i64 }
-- output { 3 }
-- notest input { [1] } output { 99 }
entry main [n] (xs: [n]i32) : i32 = reduce (+) 0 xs

-- ==
-- entry: ints
-- input { -1i64 } error:
-- input { -1i64 } error: [Ss]ize|negative
entry ints (n: i64) : []i32 = map i32.i64 (iota n)

-- ==
-- entry: floats
-- input { 1.0 } output { 1.0001f32 f32.nan [f32.inf] true {x = 1i32} #b }
entry floats (x: f32) : (f32, f32, []f32, bool, {x: i32}, #a | #b) =
  (x, 0 / (x - x), [1 / (x - x)], true, {x = 1}, #b)
END
mkdir data
echo '[4, 5]' >data/in.txt
echo '9i32' >data/out.txt
expect 0 "$weft" test good.weft
out '9 passed, 0 failed'
cat >files.weft <<'END'
-- ==
-- entry: total
-- input @ data/table.csv output { 10f64 }
-- input @ data/grey.png error: expected \[\]\[\]f64, found a file of \[\]\[\]u8
-- input @ data/none.csv error: cannot read .data/none.csv.

-- ==
-- entry: twice
-- input @ data/table.csv error: .data/table.csv. is one value, but .twice. takes 2
entry total (xs: [][]f64): f64 = f64.sum (flatten xs)
entry twice (xs: [][]f64) (ys: [][]f64): f64 = total xs + total ys
END
printf 'a,b\n1,2\n3,4\n' >data/table.csv
"$weft" data random '[2][2]u8' --seed 1 -o data/grey.png
expect 0 "$weft" test files.weft
out '4 passed, 0 failed'
printf -- '-- ==\n-- error: [Uu]nknown.*zzz\nentry main = zzz\n' >error.weft
expect 0 "$weft" test error.weft
out '1 passed, 0 failed'
printf -- '-- ==\n-- error: bananas\nentry main = zzz\n' >error2.weft
expect 1 "$weft" test error2.weft
count 'expected: bananas'
count '0 passed, 1 failed'
printf -- '-- ==\n-- error:\nentry main = 1i32\n' >error3.weft
expect 1 "$weft" test error3.weft
count 'found:    no error'
printf -- '-- ==\n-- input { 1 2 } output { 4 }\n-- input { 1 2 } output { 3 }\nentry main (x: i32) (y: i32) = x + y\n' >wrong.weft
expect 1 "$weft" test wrong.weft
out 'FAIL wrong.weft:2: main
  input:    1 2
  expected: 4i32
  found:    3i32
1 passed, 1 failed'
printf -- '-- ==\n-- input { 1 2\nentry main (x: i32) = x\n' >open.weft
expect 1 "$weft" test open.weft
count 'is not closed'
printf -- '-- ==\n-- bananas { 1 }\nentry main (x: i32) = x\n' >word.weft
expect 1 "$weft" test word.weft
count "word.weft:2:1: error: unknown word \`bananas\` in a test block"
printf -- '-- ==\n-- structure { Map 1 }\nentry main (x: i32) = x\n' >structure.weft
expect 1 "$weft" test structure.weft
printf -- '-- ==\n-- input { 1 } output { 1 }\nentry main (x: i32) = y\n' >compile.weft
expect 1 "$weft" test compile.weft
count 'compile:'
printf -- '-- ==\n-- entry: other\n-- input { 1 } output { 1 }\nentry main (x: i32) = x\n' >entry.weft
expect 1 "$weft" test entry.weft
count "the program has no entry \`other\`"
printf -- '-- ==\n-- input { 1 } output { x }\nentry main (x: i32) = x\n' >out.weft
expect 1 "$weft" test out.weft
count 'expected an i32, found `x`'
printf -- '-- ==\n-- input { 1 } output { 1 2 }\nentry main (x: i32) = x\n' >more.weft
expect 1 "$weft" test more.weft
printf -- '-- ==\n-- input { } error: (\nentry main = iota (-1)\n' >regex.weft
expect 1 "$weft" test regex.weft
count 'malformed regular expression'
printf -- '-- ==\n-- input { 1.0 } output { 1.01 }\nentry main (x: f64) = x\n' >tolerance.weft
expect 1 "$weft" test tolerance.weft
expect 0 "$weft" test --tolerance=0.1 tolerance.weft
printf 'entry main = 1i32\n' >none.weft
expect 1 "$weft" test none.weft
count 'it has no test blocks'
printf -- '-- ==\n-- input { 0 } output { 1 }\nentry main (x: i64) = loop x while x < 1 do x - 1\n' >hang.weft
expect 1 "$weft" test --limit=0.5 hang.weft wrong.weft
count 'not done after 0.5 seconds'
count '1 passed, 2 failed'
mkdir -p tree/deep
cp wrong.weft tree/deep/a.weft
cp error.weft tree/b.fut
cp none.weft tree/c.weft
expect 1 "$weft" test tree
count 'FAIL tree/deep/a.weft:2: main'
count '2 passed, 1 failed'
expect 1 "$weft" test -j 1 nowhere.weft
err_has 'cannot read'
mkdir empty
expect 1 "$weft" test empty
