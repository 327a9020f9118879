# Any bytes at all: an error in time, never a crash.
fails() {  # fails COMMAND...: status 1 and something said
    expect 1 "$@"
    if [ -s stderr ]; then good; else bad 'nothing was said'; fi
}
repeat() { awk -v s="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", s }'; }
{ printf 'entry main = '; repeat '(' 100000; printf 1; repeat ')' 100000; } >parens.weft
fails "$weft" check parens.weft
err_has 'parens.weft:1:'
{ printf 'entry main : i32 = '; repeat '(' 100000; } >open.weft
fails "$weft" check open.weft
{ printf 'entry main = '; repeat '[' 100000; } >brackets.weft
fails "$weft" check brackets.weft
{ printf 'entry main = '; repeat '-' 100000; printf 1; } >minus.weft
"$weft" check minus.weft >/dev/null 2>&1
command='check minus.weft'
if [ $? -le 1 ]; then good; else bad 'crashed'; fi
{ printf 'entry main = 1'; repeat ' + 1' 300000; } >sum.weft
"$weft" check sum.weft >/dev/null 2>&1
status=$?
command='check sum.weft'
if [ $status -le 1 ]; then good; else bad "status $status"; fi
{ printf 'entry main = '; repeat 'if true then 1 else ' 50000; printf 1; } >ifs.weft
"$weft" check ifs.weft >/dev/null 2>&1
status=$?
command='check ifs.weft'
if [ $status -le 1 ]; then good; else bad "status $status"; fi
{ printf 'entry main = '; repeat 'let x = 1 in ' 50000; printf 1; } >lets.weft
"$weft" check lets.weft >/dev/null 2>&1
status=$?
command='check lets.weft'
if [ $status -le 1 ]; then good; else bad "status $status"; fi
# A large source: 50 MB of comments around a small program.
{ repeat "-- $(repeat x 997)
" 50000; echo 'entry main = 1i32'; } >large.weft
expect 0 "$weft" run large.weft
out '1i32'
{ echo 'entry main = zz'; repeat "-- $(repeat x 997)
" 50000; } >large2.weft
fails "$weft" check large2.weft
# A line of 10 MB, with a mistake at its end.
{ printf 'entry main : i32 = 1 '; repeat ' ' 10000000; printf '+ true\n'; } >line.weft
fails "$weft" check line.weft
if [ "$(wc -c <stderr)" -lt 2000 ]; then good; else bad 'the whole line is quoted'; fi
# 50 MB without a comment.
{ printf 'entry main : i32 = '; repeat '1 + ' 12500000; printf '1\n'; } >terms.weft
expect 1 "$weft" check terms.weft
err_has 'program-too-large'
{ printf 'entry main : i32 = '; repeat x 10000000; } >name.weft
fails "$weft" check name.weft
{ printf 'entry main : []u8 = "'; repeat x 10000000; } >string.weft
fails "$weft" check string.weft
{ printf 'entry main : i32 = '; repeat 9 10000000; } >digits.weft
fails "$weft" check digits.weft
# Bytes that are no text.
printf 'entry main = \377\376\n' >utf8.weft
fails "$weft" check utf8.weft
printf 'entry main = 1\000 + 2\n' >zero.weft
fails "$weft" check zero.weft
head -c 200000 /dev/urandom >random.weft
fails "$weft" check random.weft
printf '' >empty.weft
expect 0 "$weft" check empty.weft
printf '\357\273\277entry main = 1i32\n' >bom.weft
"$weft" check bom.weft >/dev/null 2>&1
status=$?
command='check bom.weft'
if [ $status -le 1 ]; then good; else bad "status $status"; fi
# Early ends.
text='entry main [n] (xs: [n]i32) : {a: i32} = let y = xs[0] in {a = if y > 0 then y else "x"[0]}'
i=1
while [ $i -lt ${#text} ]; do
    printf '%s' "$text" | head -c $i >cut.weft
    "$weft" check cut.weft >/dev/null 2>stderr
    status=$?
    command="check of: $(cat cut.weft)"
    if [ $status -le 1 ]; then good; else bad "status $status"; fi
    i=$((i + 5))
done
# Imports that go round.
printf 'import "b"\nentry main = 1i32\n' >a.weft
printf 'import "a"\n' >b.weft
fails "$weft" check a.weft
printf 'import "self"\nentry main = 1i32\n' >self.weft
fails "$weft" check self.weft
# A type nested very deeply is carried by its leaves.
awk 'BEGIN { print "type t0 = i32"
             for (i = 1; i <= 3000; i++) printf "type t%d = {a: t%d}\n", i, i - 1
             print "entry main (x: t3000) : t3000 = x" }' >types.weft
expect 0 "$weft" run types.weft 7
out '7i32'
# Values.
printf 'entry main (xs: [][]f32) = xs[0, 0]\nentry one (x: i32) = x\n' >v.weft
for value in '[' '[[1]' '[[1,2],[3]]' '[[1]]]' 'empty(' 'b!' '"' '[[1.0f64]]' '{' '#a' ; do
    fails "$weft" run v.weft "$value"
done
repeat '[' 1000000 >in
fails "$weft" run v.weft
repeat 9 10000000 >in
fails "$weft" run v.weft one
{ printf '[['; repeat '1, ' 3000000; printf '1]]'; } >in
expect 0 "$weft" run v.weft
out '1.0f32'
head -c 1000000 /dev/urandom >in
fails "$weft" run v.weft
printf 'b\002\002 f32\377\377\377\377\377\377\377\177\377\377\377\377\377\377\377\177' >in
fails "$weft" run v.weft
err_has 'promises more elements'
printf 'b\002\002 f32\000\000\000\000\001\000\000\000\001\000\000\000\000\000\000\000' >in
fails "$weft" run v.weft
