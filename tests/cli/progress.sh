# A terminal shows how far long work is, and takes the line back; nothing else does.
cat >slow.weft <<'END'
entry main (n: i64): i64 = i64.sum (map (\i -> loop x = i for _j < 100000i64 do (x * 5 + 1) % 1009) (iota n))
END
escape=$(printf '\033')
on_terminal() { script -qec "$1" /dev/null </dev/null >stdout 2>stderr; }
if command -v script >/dev/null; then
    command='run slow.weft on a terminal'
    TERM=xterm on_terminal "timeout -s INT 4 '$weft' run slow.weft 100000"
    if grep -q "running slow.weft:1  .*$escape\\[K" stdout; then good; else bad "$(cat -v stdout)"; fi
    if grep -qE '[0-9]+ %  [0-9]+ s left' stdout; then good; else bad "$(cat -v stdout)"; fi
    # The last thing is the message, on a line that was cleared.
    tail -n 1 stdout | tr -d '\r' | sed "s/.*$escape\\[K//" >last
    same last 'weft: interrupted'
    for silent in "TERM=dumb '$weft' run" "'$weft' run 2>errors"; do
        command="$silent"
        TERM=xterm on_terminal "timeout -s INT 3 sh -c \"exec env $silent slow.weft 100000\""
        if grep -q 'running slow' stdout errors 2>/dev/null; then bad "$(cat -v stdout)"
        else good; fi
    done
fi
expect 1 timeout --preserve-status -s INT 3 "$weft" run slow.weft 100000
err 'weft: interrupted'
