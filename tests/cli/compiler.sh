# The C compiler behind the native engine: missing, failing, hanging, making nonsense. The
# native engine says so; `auto` interprets, and has the right answer.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir -p cache/weft
cat >square.weft <<'END'
entry main (n: i64): i64 = i64.sum (map (\x -> x * x) (iota n))
entry turns (n: i64): i64 = loop x = n for i < n do x * 31 + i
END
compiler() {  # compiler: makes ./cc of the script in standard input, $out its output
    { printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nout=$2\n'; cat; } >cc
    chmod +x cc
}
fails() {  # fails TEXT...: what the native engine says
    expect 1 "$weft" run -e native square.weft main 10
    for text in "$@"; do err_has "$text"; done
    expect 0 "$weft" run square.weft main 2000000
    out '2666664666667000000i64'
    clean
}
clean() {  # nothing is left but entries and logs
    left=$(find cache/weft ! -name weft ! -name '*.so' ! -name 'tmp-weft-*.log')
    [ -z "$left" ] && good || bad "left behind: $left"
}
export WEFT_CC=/nonexistent/cc
fails 'there is no compiler `/nonexistent/cc` (from $WEFT_CC)'
WEFT_CC=no-such-compiler
fails 'there is no compiler `no-such-compiler` (from $WEFT_CC)'
WEFT_CC=$PWD
fails '(from $WEFT_CC)'
echo 'exit 0' >cc
WEFT_CC=$PWD/cc
fails '(from $WEFT_CC) cannot be run'
chmod +x cc  # no program and no script
fails "the compiler $PWD/cc"
: >cc
fails "the compiler $PWD/cc"
printf '#!/nonexistent/shell\n' >cc
fails "the compiler $PWD/cc cannot be started: No such file or directory"
compiler <<'END'
echo "no luck"
exit 7
END
fails "the compiler $PWD/cc failed with status 7; what it said is in "
"$weft" run -e native square.weft main 10 2>said
log=$(sed -n 's/.* is in //p' said)
if [ "$(cat "$log")" = 'no luck' ]; then good; else bad "no log in $log"; fi
compiler <<'END'
exit 3
END
fails "the compiler $PWD/cc failed with status 3 and said nothing"
compiler <<'END'
kill -9 $$
END
fails "the compiler $PWD/cc failed with signal 9 and said nothing"
compiler <<'END'
echo '\377\000 nonsense' | tee "$out"
END
fails "what the compiler $PWD/cc made cannot be loaded"
compiler <<'END'
exit 0
END
fails "what the compiler $PWD/cc made cannot be loaded"
compiler <<'END'
: >"$out"
END
fails "what the compiler $PWD/cc made cannot be loaded"
compiler <<'END'
echo 'int f(void) { return 1; }' >"$out.c"
exec cc -shared -fPIC -o "$out" "$out.c"
END
fails "what the compiler $PWD/cc made lacks weft_kernel_"
compiler <<'END'
exec yes 'and another thing'
END
fails "the compiler $PWD/cc failed with signal 9; what it said is in "
# One that hangs, with a helper that does, too, is stopped with it.
compiler <<END
sleep 300 &
echo \$! \$\$ >>$PWD/pids
sleep 300
END
export WEFT_CC_SECONDS=1
fails "the compiler $PWD/cc was stopped after 1 seconds"
unset WEFT_CC_SECONDS
expect 1 timeout --foreground --preserve-status -s INT 1 "$weft" run -e native square.weft main 10
err 'weft: interrupted'
clean
expect 1 timeout --foreground --preserve-status -s TERM 1 "$weft" run square.weft turns 1000000000
clean
[ "$(wc -l <pids)" = 4 ] && good || bad "$(wc -l <pids) of 4 compilers ran"
is_gone() {  # also of one that nobody has waited for yet
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
    [ -z "$state" ] || [ "$state" = Z ]
}
for pid in $(cat pids); do
    tries=0
    until is_gone "$pid" || [ $tries = 50 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    is_gone "$pid" && good || bad "process $pid is left"
done
# Some send a signal to a process and then to its group: it may come while all is ended.
# (Looking for leaks does not survive that, so not under sanitizers.)
if [ "$slow" = 10 ]; then
    "$weft" run square.weft turns 1000000000 >stdout 2>stderr &
    sleep 0.5
    for _ in $(seq 3000); do kill -TERM $! 2>/dev/null; done
    wait $!
    command='signals again and again'
    clean
fi
for seconds in 0 -1 x 1x 99999999999999999999; do
    WEFT_CC_SECONDS=$seconds
    export WEFT_CC_SECONDS
    fails '$WEFT_CC_SECONDS' 'from 1 to 86400'
done
unset WEFT_CC_SECONDS
# A compiler for an older processor calls functions of the system's library.
printf '#!/bin/sh\nexec cc "$@" -march=x86-64\n' >cc
cat >fma.weft <<'END'
entry main (xs: []f64): []f64 =
  map (\x -> f64.fma x x 1 + f64.floor x + f64.sqrt x + f64.round (x * 1.5)) xs
END
if [ "$(uname -m)" = x86_64 ]; then
    "$weft" run -e interp fma.weft '[1.25, 2.5, 1e300]' >wanted
    expect 0 "$weft" run -e native fma.weft '[1.25, 2.5, 1e300]'
    same stdout "$(cat wanted)"
fi
unset WEFT_CC
nothing=$PWD/nothing
mkdir nothing
expect 1 env PATH="$nothing" "$weft" run -e native square.weft main 10
err_has 'none of cc, gcc and clang is on the PATH'
expect 0 env PATH="$nothing" "$weft" run square.weft main 2000000
out '2666664666667000000i64'
unset XDG_CACHE_HOME
