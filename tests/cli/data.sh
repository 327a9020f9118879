# Files of values: weft data, weft run with files in and out.
cat >f.weft <<'END_OF_PROGRAM'
entry main (k: f32) (xs: [][]f32) : [][]f32 = map (map (* k)) xs
entry grey (im: [][]u8) : [][]f32 = map (map (\p -> f32.u8 p / 255)) im
entry turned (im: [][]u8) : ([][]u8, i64) = (transpose im, length im)
entry rec (r: {a: i32, b: []u8}) (s: []u8) : i64 = length r.b + length s
entry sum (x: i32) : #some i32 = #some x
entry rows (xs: [](#row ([2]i32) | #none)) : [](#row ([2]i32) | #none) =
  map (\x -> match x case #row r -> #row (map (+ 1) r) case #none -> #none) xs
entry pair (x: i32) : (i32, (i64, []u8)) = (x, (i64.i32 x, "ab"))
END_OF_PROGRAM
expect 0 "$weft" data random '[2][3]f32' --seed 5 -o x.npy
out ''
expect 0 "$weft" data show x.npy
out_has 'type   [][]f32'
out_has 'shape  2 x 3'
expect 0 "$weft" data random '[3]u8' --seed 5
cp stdout first
expect 0 "$weft" data random '[3]u8' -s 5
if cmp -s stdout first; then good; else bad 'another value from the same seed'; fi
expect 0 "$weft" data random '[3]u8'
if cmp -s stdout first; then bad 'the same value from another seed'; else good; fi

# Values and files in any order; results in order; the rest is printed.
expect 0 "$weft" run f.weft -1 x.npy -o y.npy
out ''
expect 0 "$weft" run f.weft -o z.npy -- -1 y.npy
if cmp -s x.npy z.npy; then good; else bad 'twice -1 changed an array'; fi
printf '10,20\n30,40\n50,60\n' >t.csv
expect 0 "$weft" data convert t.csv t.val
printf '[[10u8, 20u8], [30u8, 40u8], [50u8, 60u8]]\n' >i.val
expect 0 "$weft" data convert i.val i.png
expect 0 "$weft" run f.weft turned i.png -o j.png
out '3i64'
expect 0 "$weft" run f.weft turned i.png --output=j.npy -o n.in
out ''
expect 0 cat n.in
out '3i64'
expect 0 "$weft" data convert j.npy j.val
expect 0 cat j.val
out '[[10u8, 30u8, 50u8], [20u8, 40u8, 60u8]]'
expect 0 "$weft" run f.weft grey i.png -o g.png
if cmp -s i.png g.png; then good; else bad 'an image changed on its way'; fi
echo '{a = 1, b = "abc"}' >r.in
printf 'text' >s.txt
expect 0 "$weft" run f.weft rec r.in s.txt
out '7i64'
expect 0 "$weft" run f.weft rec '{a = 1, b = "abc"}' s.txt
out '7i64'
expect 0 "$weft" run f.weft sum 3 -o s.val
expect 1 "$weft" run f.weft sum 3 -o s.bin
err_has 'a value of type #some i32 cannot be written'
expect 0 "$weft" run f.weft rec '{b = "abc", a = 1}' '""'
out '3i64'
expect 1 "$weft" run f.weft rec '{b = "abc", c = 1}' '""'
err_has 'expected the field `a`, found `c`'
expect 1 "$weft" run f.weft rec '{b = "abc", b = ""}' '""'
err_has 'the field `b` is given twice'
expect 0 "$weft" run f.weft rows '[#none, #row [1, 2], #none, #row [3, 4]]' -o rows.val
expect 0 cat rows.val
out '[#none, #row [2i32, 3i32], #none, #row [4i32, 5i32]]'
expect 0 "$weft" run f.weft rows rows.val -o rows.val
expect 0 cat rows.val
out '[#none, #row [3i32, 4i32], #none, #row [5i32, 6i32]]'
expect 0 "$weft" run f.weft -1 y.npy -o y.npy
if cmp -s x.npy y.npy; then good; else bad 'a file read and written is wrong'; fi

# Each result that has a -o goes there; a tuple within one is a value of several.
expect 0 "$weft" run f.weft pair 3
out '3i32
(3i64, [97u8, 98u8])'
expect 0 "$weft" run f.weft pair 3 -o three.out
out '(3i64, [97u8, 98u8])'
expect 0 "$weft" run f.weft pair 3 -o three.out -o both.bin
out ''
if [ "$(head -c 2 both.bin | od -An -tx1 | tr -d ' ')" = 6202 ]; then good; else bad 'not binary'; fi
expect 2 "$weft" run f.weft pair 3 -o three.out -o three.out
err_has 'two results are to be written to `three.out`'
expect 2 "$weft" run f.weft pair 3 -o -
err_has 'what `-` is to be cannot be told from its ending'

# What goes wrong says which file and why.
expect 1 "$weft" run f.weft i.png i.png
err_has 'i.png: error: expected f32, found a file of [][]u8'
err_has "note: for the parameter \`k: f32\` of \`main\`"
expect 1 "$weft" run f.weft main x1 x.npy
err_has 'command line:1:1: error: expected an f32, found `x1`'
expect 2 "$weft" run f.weft x.npy
err_has 'takes 2 values, found 1 word'
expect 2 "$weft" run f.weft grey i.png -o a.png -o b.png
err_has 'there are 2 files to write, but `grey` has 1 result'
expect 2 "$weft" run f.weft grey i.png -o a.foo
err_has 'cannot be told from its ending'
expect 2 "$weft" run f.weft -m -5 grey i.png
err_has '`-5` is not a size'
expect 1 "$weft" run f.weft grey none.png
err_has 'cannot read `none.png`: No such file or directory'
mkdir -p folder.png
expect 1 "$weft" run f.weft grey folder.png
err_has 'Is a directory'
head -c 40 i.png >cut.png
expect 1 "$weft" run f.weft grey cut.png
err_has 'cut.png: error: the PNG is damaged: the file is cut short'
printf '1,2\n3\n' >bad.csv
expect 1 "$weft" data show bad.csv
err_has 'bad.csv: error: line 2 (row 2) has 1 cells, line 1 has 2: column 2 is missing'

# A file appears whole or not at all, and keeps its mode.
expect 1 "$weft" run f.weft grey i.png -o nowhere/a.png
err_has 'cannot write `nowhere/a.png`: No such file or directory'
ln -s /dev/full full.npy
expect 1 "$weft" data convert i.png full.npy
err_has 'cannot write `full.npy`: No space left on device'
ln -s /dev/full full.png
expect 1 "$weft" data convert i.png full.png
err_has 'cannot write `full.png`: No space left on device'
if [ -c /dev/full ] && [ -L full.npy ]; then good; else bad 'a device was replaced'; fi
cp i.png kept.png
expect 1 "$weft" run f.weft grey cut.png -o kept.png
if cmp -s i.png kept.png; then good; else bad 'a failed run changed its output'; fi
(ulimit -f 1; trap '' XFSZ; exec "$weft" data random '[1000000]u8' -o big.npy) 2>stderr
if [ ! -e big.npy ] && grep -q 'cannot write' stderr; then good; else bad 'a partial file'; fi
chmod 600 j.npy
expect 0 "$weft" data convert i.png j.npy
if [ "$(stat -c %a j.npy)" = 600 ]; then good; else bad 'the mode changed'; fi
ln -s j.npy link.npy
expect 0 "$weft" data convert g.png link.npy
if [ -L link.npy ]; then good; else bad 'a link was replaced'; fi
ln -s /dev/stdout stdout.csv
expect 0 "$weft" data convert i.png stdout.csv
out '10,20
30,40
50,60'
ln -s new.npy dangling.npy
expect 0 "$weft" data convert i.png dangling.npy
if [ -L dangling.npy ] && [ -f new.npy ]; then good; else bad 'a link was replaced'; fi
ln -s circle.npy circle.npy
expect 1 "$weft" data convert i.png circle.npy
err_has 'cannot write `circle.npy`: Too many levels of symbolic links'
mkdir -p sub
ln -s ../up.npy sub/up.npy
expect 0 "$weft" data convert i.png sub/up.npy
if [ -L sub/up.npy ] && [ -f up.npy ]; then good; else bad 'a link was not followed'; fi
(umask 027; exec "$weft" data convert i.png masked.npy)
if [ "$(stat -c %a masked.npy)" = 640 ]; then good; else bad 'the mode is not as umask says'; fi
long=$(printf '%0250d' 0).npy
expect 0 "$weft" data convert i.png "$long"
if [ -f "$long" ]; then good; else bad 'a long name is lost'; fi
printf '1,2,\n3,4,\n' >trailing.csv
expect 1 "$weft" data show trailing.csv
err_has 'line 1 (row 1), column 3 is empty; write nan for a number that is missing'
printf 'PK\003\004 nothing' >no.npz
expect 1 "$weft" data show no.npz
err_has 'no.npz: error: this is no .npz file'
if ls -A . sub | grep -q part; then bad 'a draft was left behind'; else good; fi

expect 2 "$weft" data
err_has 'say what to do'
expect 2 "$weft" data shw x.npy
err_has 'did you mean `show`'
expect 2 "$weft" data show
expect 2 "$weft" data convert x.npy
expect 2 "$weft" data convert x.npy y
expect 2 "$weft" data show x.npy --seed 3
expect 2 "$weft" data random '[]f32'
err_has '`[]f32` is no type with sizes'
expect 2 "$weft" data random '[3]f32' --seed x
expect 1 "$weft" data random '[99999999999][99999999999]f32'
err_has 'out of memory'
expect 1 "$weft" data random '[3]f32' -o r.png
err_has 'cannot be written to `r.png`: an image is'
expect 1 "$weft" data convert i.png i.npz
err_has 'can only be read'
expect 1 "$weft" data show x.npy gone.npy i.png
out_has 'i.png'
err_has 'gone.npy'

# There and back through NumPy, where it is installed.
if python3 -c 'import numpy' 2>/dev/null; then
    for type in bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64; do
        for shape in '' '[7]' '[3][4]' '[2][0]' '[2][3][4]'; do
            echo "$shape$type"
        done
    done >types
    while read -r type; do
        expect 0 "$weft" data random "$type" -o "$type.npy"
        expect 0 "$weft" data convert "$type.npy" "$type.in"
    done <types
    cat >there.py <<'END_OF_PROGRAM'
import numpy as np
names = {"i": "int", "u": "uint", "f": "float", "b": "bool"}
for line in open("types"):
    path = line.strip()
    sizes, scalar = path.rpartition("]")[::2]
    a = np.load(path + ".npy")
    bits = scalar.strip("abcdefghijklmnopqrstuvwxyz")
    assert a.dtype == np.dtype(names[scalar[0]] + bits), path
    assert a.shape == tuple(int(n) for n in sizes.strip("[").split("][") if n), path
    a = np.asarray(a, dtype=a.dtype.newbyteorder(">"), order="F")
    np.save(path + "-big.npy", a)
    np.savez_compressed(path + ".npz", other=np.zeros(3), it=a)
END_OF_PROGRAM
    python3 there.py >stdout 2>stderr && good || bad "$(cat stderr)" # not bound to 10 s
    while read -r type; do
        for file in "$type-big.npy" "$type.npz:it"; do
            expect 0 "$weft" data convert "$file" back.in
            if cmp -s "$type.in" back.in; then good; else bad "$file is not what NumPy wrote"; fi
        done
    done <types
else
    skipped=$((skipped + 1))
fi
