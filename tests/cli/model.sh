# weft model: rules of fission on programs, random ones, and what it cannot do.
cat >sum.weft <<'PROGRAM'
-- ==
-- entry: main
-- input { [1, 2, 3] }
-- input { [1, 2, 3, 4, 5, 6, 7, 8] }
entry main [n] (xs: [n]i32) = i32.sum (map (* 2) xs)
-- ==
-- entry: wrong
-- input { [1, 0] }
entry wrong [n] (xs: [n]i32) = map (6 /) xs
PROGRAM
expect 0 "$weft" model --depth 1 sum.weft
out_has 'sum.weft:3: main: '
out_has '3 passed, 0 failed'
expect 0 "$weft" model --states 20 sum.weft
out_has '; there are more'
expect 1 "$weft" model --states 20 --all sum.weft
out_has '0 passed, 3 failed'
expect 0 "$weft" model --all sum.weft
out_has '3 passed, 0 failed'
expect 0 "$weft" model --places sum.weft
out_has '1  map, dimension 0: '
expect 0 "$weft" model --apply 1 --at 1 sum.weft
out_has 'concat[0]'
expect 2 "$weft" model --apply 9 sum.weft
err_has 'there are 3 places'
expect 0 "$weft" model --random 3 --seed 5
out '3 passed, 0 failed'
# What it prints is core that means the same.
expect 0 "$weft" model --apply 2 sum.weft
cp stdout split.core
expect 0 "$weft" run split.core main '[1, 2, 3]'
out '12i32'

echo 'def main (x: i32) = x' >quiet.weft
expect 1 "$weft" model quiet.weft
err_has 'quiet.weft has no test block with an input'
printf -- '-- ==\n-- input { [1, x] }\ndef main (x: []i32) = x\n' >malformed.weft
expect 1 "$weft" model malformed.weft
err_has 'malformed.weft:2: an input that `main` cannot have'
printf -- '-- ==\n-- entry: none\n-- input { 1 }\ndef main (x: i32) = x\n' >none.weft
expect 1 "$weft" model none.weft
err_has 'no entry `none`'
expect 1 "$weft" model absent.weft
err_has 'cannot read `absent.weft`'
head -c 3000 /dev/urandom >noise.core
expect 1 "$weft" model noise.core
expect 2 "$weft" model
expect 2 "$weft" model --depth many sum.weft
err_has '`many` is no number'
expect 2 "$weft" model --after soup sum.weft
err_has 'no pass `soup`'
expect 2 "$weft" model --random 2 sum.weft
