# weft repl: dialogues. Values go to stdout, what is wrong to stderr.
says() {  # says TEXT: what the dialogue in ./in prints
    expect 0 "$weft" repl
    out "$1"
}
# Values, `it`, definitions, what hides what.
cat >in <<'DIALOGUE'
1+2
it * 2

-- a comment
def f x = x + it
f 4
def it = 100
f 4
(1, "ab", {x = 2.5})
\x -> x + 1i64
\x -> x
let x = 3 in x * x
let x = 3
x
DIALOGUE
says '3i32
6i32
10i32
10i32
(1i32, [97u8, 98u8], {x = 2.5f64})
i64 -> i64
'"'"'a -> '"'"'a
9i32
3i32'
err ''
# The end of the input ends a line, too.
printf '40 + 2' >in
says 42i32
printf '1 +\r\n  2\r\n' >in
says 3i32
: >in
says ''
# Several lines; :abort and an empty line end them.
cat >in <<'DIALOGUE'
def f (x: i32): i32 =
  let y = x + 1
  in y *
     y
f 2
type t = #a | #b i32
def g (v: t): i32 =
  match v
  case #a -> 0
  case #b x -> x

g (#b 7)
[1,
:abort
5
[1,

6
DIALOGUE
says '9i32
7i32
5i32
6i32'
err_has 'input 7:1:4: error: '
# A mistake is told where it was typed, and the dialogue goes on.
cat >in <<'DIALOGUE'
def pick (xs: []i32) (i: i64): i32 = xs[i]
1 + nope
pick [1, 2] 5
let z = 1 / 0
z
:type   1 + none
7
DIALOGUE
says 7i32
err 'input 2:1:5: error: unknown name `nope` [unknown-name]
    1 | 1 + nope
      |     ^^^^
input 1:1:38: error: index 5 is outside [0, 2)
    1 | def pick (xs: []i32) (i: i64): i32 = xs[i]
      |                                      ^^^^^
called from input 3:1:1 in it
input 4:1:9: error: division by zero
    1 | let z = 1 / 0
      |         ^^^^^
input 5:1:1: error: unknown name `z` [unknown-name]
    1 | z
      | ^
input 6:1:13: error: unknown name `none` [unknown-name]
    1 |         1 + none
      |             ^^^^'
cat >in <<'DIALOGUE'
def x = map (+ 1) [1, 2, 3]
map2 (+) x [1, 2]
def a = 1 def a = 2
a
)
DIALOGUE
says ''
err_has 'input 2:1:12: error: the sizes 3 and 2 differ'
if grep -q '???' stderr; then bad 'shows what nobody typed'; else good; fi
err_has 'input 3:1:15: error: `a` is defined twice'
err_has 'input 4:1:1: error: unknown name `a`'
err_has 'input 5:1:1: error: '
# What is defined is evaluated once.
printf 'def x = #[trace] (1 + 2)\nx\nx\n' >in
says '3i32
3i32'
err 'input 1:1:9: 3i32'
# Commands, and how they are shortened.
cat >in <<'DIALOGUE'
:t iota 3
:type f32.sqrt
def f x = x + 1
module m = {def k = 1}
:na
:quux
:
:time 1
:q
8
DIALOGUE
expect 0 "$weft" repl
out_has '[3]i64
f32 -> f32
f: i32 -> i32
module m
1i32
0.'
err 'error: there is no command `:quux`
hint: :help lists them
error: there is no command `:`
hint: :help lists them'
printf ':help\n' >in
expect 0 "$weft" repl
out_has ':load   FILE'
printf ':dump 2 + 3i64\n' >in
expect 0 "$weft" repl
out_has 'entry it'
# Files: load, reload, what is broken or missing, bytes that are no program.
printf 'import "base"\ndef area (r: f64) = pi * r * r\n' >geo.weft
printf 'def pi = 3.0\n' >base.weft
printf 'def f = (\n' >broken.weft
head -c 3000 /dev/zero | tr '\0' '\377' >bytes.weft
cat >in <<'DIALOGUE'
def old = 1
:load broken.weft
:load bytes.weft
:load nowhere.weft
:load .
:load
old
:load geo.weft
area 2
old
:reload
area 1
DIALOGUE
says '1i32
12.0f64
3.0f64'
err_has 'broken.weft:1:10: error: '
err_has 'bytes.weft:1:1: error: '
err_has 'cannot read `nowhere.weft`'
err_has 'cannot read `.`'
err_has 'error: write :load FILE'
err_has 'unknown name `old`'
printf 'area 1\n' >in
expect 0 "$weft" repl geo.weft
out 3.0f64
printf '5\n' >in
expect 0 "$weft" repl broken.weft
out 5i32
# Values from and to files; what is saved is a program.
cat >in <<'DIALOGUE'
:write grid.npy [[1, 2], [3, 4i16]]
:read g grid.npy
transpose g
:read 3g grid.npy
:read g nowhere.npy
:read g
:write grid.png 1
:write grid.npy \x -> x + 1
def twice x = g[x, x] * 2
def g = 5
:save /nowhere/saved.weft
:save saved.weft
DIALOGUE
says '[[1i16, 3i16], [2i16, 4i16]]'
err_has '`3g` cannot be a name'
err_has 'nowhere.npy'
err_has 'cannot write `/nowhere/saved.weft`: '
same saved.weft 'open {
def g: [2][2]i16 = [[1i16, 2i16], [3i16, 4i16]]
def twice x = g[x, x] * 2
}
def g = 5'
printf 'twice 1\ng\n' >in
expect 0 "$weft" repl saved.weft
out '8i16
5i32'
# Input that nobody typed: never the end of the session.
{ head -c 20000 /dev/urandom | tr '\n:' '..'; printf '\n\n1\0 2\n\n9\n'; } >in
expect 0 "$weft" repl
out_has 9i32
{ repeat '(' 100000; printf '\n\n'; repeat '[' 100000; printf '\n\n'; repeat '-' 100000
printf '1\n1'; repeat ' + 1' 20000; printf '\ndef '; repeat 'x' 1000000; printf ' = 4\n9\n'; } >in
expect 0 "$weft" repl
out_has '20001i32
9i32'
printf '%s\n' 'replicate (10**15) 0u8' 9 >in
expect 0 "$weft" repl -m 100M
out 9i32
err_has 'out of memory'
i=0
while [ $i -lt 300 ]; do printf 'let x%d = %d\nit + x%d\n' $i $i $i; i=$((i + 1)); done >rest
{ echo 0; cat rest; } >in
expect 0 "$weft" repl
out_has 44850i32
# Usage; a closed pipe; input that cannot be read.
expect 2 "$weft" repl a.weft b.weft
expect 2 "$weft" repl -m none
expect 0 "$weft" repl --help
out_has 'Usage: weft repl'
if [ -e /dev/full ]; then
    command='repl >/dev/full'
    echo 1 | "$weft" repl >/dev/full 2>stderr
    if [ $? = 1 ]; then good; else bad 'lost output was not noticed'; fi
    err_has 'could not be written'
fi
command='repl <folder'
"$weft" repl <. >stdout 2>stderr
if [ $? = 1 ]; then good; else bad 'a folder was read'; fi
err_has 'could not be read'
# On a terminal: prompts, types of definitions, long values shortened, Ctrl-C, history.
cat >terminal.py <<'PYTHON'
import os, pty, select, sys, time

pid, file = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", XDG_STATE_HOME=os.getcwd() + "/state", NO_COLOR="1")
    os.execv(sys.argv[1], [sys.argv[1], "repl"])
seen = b""


def wait(wanted):
    global seen
    end = time.time() + 30
    while wanted not in seen and time.time() < end:
        if not select.select([file], [], [], 0.1)[0]:
            continue
        try:
            read = os.read(file, 65536)
        except OSError:
            read = b""
        if not read:
            break
        seen += read
    if wanted not in seen:
        sys.exit("expected %r, found %r" % (wanted, seen))
    seen = seen[seen.index(wanted) + len(wanted):]


def say(text, wanted, then=b"weft> "):
    os.write(file, text)
    wait(wanted)
    wait(then)


wait(b"weft> ")
say(b"1 + 2\n", b"3i32")
say(b"def f x = x + 1\n", b"f: i32 -> i32")
say(b"iota 100000\n", b"shortened; it is of the type [100000]i64")
say(b"f (\n", b"", b"    | ")
say(b"\x03", b"\n")
say(b"nope\n", b"unknown name")
say(b"loop x = 0i64 for i < 1000000000000 do x + i\n", b"", b"do x + i\r\n")
time.sleep(0.3)
say(b"\x03", b"interrupted")
say(b"f 6\n", b"7i32")
if sys.argv[2] == "edit":
    say(b"f64.sqr\t", b"t", b"")
    say(b" 4\n", b"2.0f64")
    say(b"\x1b[A\n", b"2.0f64")
os.write(file, b"\x04")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
if command -v python3 >/dev/null && [ "$memory" != unlimited ]; then
    edit=plain
    if grep -q rl_callback_read_char "$weft" &&
        python3 -c 'import ctypes; ctypes.CDLL("libedit.so.2")' 2>/dev/null; then
        edit=edit
    fi
    expect 0 python3 terminal.py "$weft" $edit
    err ''
    [ $edit = plain ] || has state/weft/history 'f\0406'
    # Without libedit: lines as the terminal has them.
    mkdir none
    : >none/libedit.so.2
    expect 0 env LD_LIBRARY_PATH="$PWD/none" python3 terminal.py "$weft" plain
    err ''
fi
