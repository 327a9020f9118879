# Files of values: weft data, weft run with files in and out.
cat >f.weft <<'END_OF_PROGRAM'
entry main (k: f32) (xs: [][]f32) : [][]f32 = map (map (* k)) xs
entry grey (im: [][]u8) : [][]f32 = map (map (\p -> f32.u8 p / 255)) im
entry turned (im: [][]u8) : ([][]u8, i64) = (transpose im, length im)
entry rec (r: {a: i32, b: []u8}) (s: []u8) : i64 = length r.b + length s
entry sum (x: i32) : #some i32 = #some x
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
if ls | grep -q part; then bad 'a draft was left behind'; else good; fi

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
