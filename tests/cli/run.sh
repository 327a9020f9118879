# weft run: entries, values, output, errors.
cat >p.weft <<'END'
entry main [n] (xs: [n]i32) : i32 = reduce (+) 0 xs
entry nth [n] (xs: [n]i32) (i: i64) : i32 = xs[i]
entry two (x: f32) : (f32, []bool) = (x / 2, [true, false])
entry none : i64 = 42
entry rec (x: i32) : {a: i32, b: #on | #off i32} = {a = x, b = #off x}
END
expect 0 "$weft" run p.weft '[1, 2, 3]'
out '6i32'
err ''
expect 0 "$weft" run p.weft main '[1, 2, 3]'
out '6i32'
echo '[1, 2, 3]' >in
expect 0 "$weft" run p.weft
out '6i32'
echo '[1, 2, 3] -- a comment
  2i64' >in
expect 0 "$weft" run p.weft nth
out '3i32'
printf 'b\002\001 i32\003\000\000\000\000\000\000\000\001\000\000\000\002\000\000\000\003\000\000\000' >in
expect 0 "$weft" run p.weft
out '6i32'
expect 0 "$weft" run p.weft two -3.5
out '-1.75f32
[true, false]'
expect 0 "$weft" run p.weft two -f32.inf
out '-f32.inf
[true, false]'
expect 0 "$weft" run p.weft none
out '42i64'
expect 0 "$weft" run p.weft rec 1
out '{a = 1i32, b = #off 1i32}'
expect 0 "$weft" run -b p.weft -- '[1, 2]'
expect 0 "$weft" run p.weft --binary '[1, 2]'
printf 'b\002\000 i32\003\000\000\000' >wanted
if cmp -s stdout wanted; then good; else bad 'binary output'; fi
expect 0 "$weft" run p.weft '[1,' '2]'
out '3i32'
expect 2 "$weft" run p.weft nnth '[1]' 0
err_has "has no entry \`nnth\`"
err_has "its entries are \`main\`, \`nth\`"
expect 1 "$weft" run p.weft -- nth '[1]' 0
err_has 'command line:1:1: error: expected an array of type []i32, found `nth`'
expect 1 "$weft" run p.weft '[1, x]'
err_has 'command line:1:5: error: expected an i32, found `x`'
err_has "note: for the parameter \`xs: [n]i32\` of \`main\`"
expect 1 "$weft" run p.weft nth '[1]'
err_has 'expected 2 values, found only 1'
expect 1 "$weft" run p.weft none 3
err_has 'found more'
expect 1 "$weft" run p.weft
err_has 'standard input:1:1: error: expected 1 value, found only 0'
expect 1 "$weft" run p.weft nth '[1, 2, 3]' 7
err_has 'p.weft:2:45: error: '
err_has '^^^^'
cat >arms.weft <<'END'
entry main (c: bool) (xs: []i64): i64 =
  if c then xs[5] + 7
  else 8 - xs[5]
END
expect 1 "$weft" run arms.weft true '[1]'
err_has 'arms.weft:2:13: error: index 5 is outside [0, 1)'
expect 1 "$weft" run arms.weft false '[1]'
err_has 'arms.weft:3:12: error: index 5 is outside [0, 1)'
expect 1 "$weft" run nowhere.weft
err_has "cannot read \`nowhere.weft\`: No such file or directory"
expect 1 "$weft" run .
printf 'entry a : i32 = 1\nentry b : i32 = 2\n' >two.weft
expect 2 "$weft" run two.weft
err_has 'say which entry to run'
expect 0 "$weft" run two.weft b
out '2i32'
printf 'entry a : i32 = 1\n' >one.weft
expect 0 "$weft" run one.weft
out '1i32'
printf 'def helper (x: i32) = x\n' >lib.weft
expect 1 "$weft" run lib.weft
err_has 'has no entry'
printf 'def main (x: i32) = x + 1\n' >main.weft
expect 0 "$weft" run main.weft 1
out '2i32'
printf 'def f [n] (xs: [n]i32) (i: i64) = xs[i]\ndef g (i: i64) = f [1, 2, 3] i\nentry main (i: i64) = g i + 1\n' >chain.weft
expect 1 "$weft" run chain.weft 5
err_has 'chain.weft:1:'
err_has 'called from chain.weft:2:'
err_has 'called from chain.weft:3:'
printf '#[noinline]\ndef f (xs: []i32) (i: i64) = xs[i]\ndef g (xs: []i32) (i: i64) = f xs (i + 1)\nentry main (xs: []i32) = g xs 5\n' >far.weft
expect 1 "$weft" run far.weft '[1, 2, 3]'
err_has 'far.weft:2:30: error: index 6 is outside [0, 3)'
err_has 'called from far.weft:3:30 in g'
err_has 'called from far.weft:4:26 in main'
{
    echo 'def f0 [n] (xs: [n]i32) (i: i64) = xs[i]'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        echo "def f$i [n] (xs: [n]i32) (i: i64) = f$((i - 1)) xs i"
    done
    echo 'entry main (i: i64) = f20 [1, 2, 3] i'
} >deep.weft
expect 1 "$weft" run deep.weft 5
err_has 'calls between'
if [ "$(wc -l <stderr)" -le 20 ]; then good; else bad 'the chain is not shortened'; fi
# Imports, relative to the importing file; .fut too.
mkdir -p sub
printf 'import "sub/a"\nentry main = x + 1\n' >imp.weft
printf 'import "b"\ndef x = y * 2\n' >sub/a.weft
printf 'def y = 20i32\n' >sub/b.fut
expect 0 "$weft" run imp.weft
out '41i32'
printf 'import "nothing"\nentry main = 1i32\n' >imp2.weft
expect 1 "$weft" run imp2.weft
err_has 'imp2.weft:1:'
# Lost output.
if [ -e /dev/full ]; then
    "$weft" run one.weft >/dev/full 2>stderr
    status=$?
    command='run one.weft >/dev/full'
    if [ $status = 1 ]; then good; else bad "status $status"; fi
    err_has 'the output could not be written'
fi
printf 'entry main = iota 100000\n' >long.weft
{ "$weft" run long.weft 2>stderr; echo $? >status; } | head -c 10 >/dev/null
command='run long.weft | head'
same status 1
# Memory ceiling.
printf 'entry main (n: i64) = i64.sum (replicate n 1 with [n / 2] = 7)\n' >mem.weft
expect 1 "$weft" run -m 100M mem.weft 1000000000
err_has 'memory'
expect 0 "$weft" run -m 100M mem.weft 1000
# No colour but on a terminal.
expect 1 "$weft" run p.weft '[x]'
if grep -q "$(printf '\033')" stderr; then bad 'colour in a file'; else good; fi
