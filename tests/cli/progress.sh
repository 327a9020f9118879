# A terminal shows how far long work is, and takes the line back; nothing else does.
cat >slow.weft <<'END'
-- Each element takes longer than the one before.
entry main: i64 =
  i64.sum (map (\i -> loop x = i for _j < i * i do (x * 5 + 1) % 1009) (iota 60000))
END
escape=$(printf '\033')
on_terminal() { TERM=xterm script -qec "$1" /dev/null </dev/null >stdout 2>stderr; }
if command -v script >/dev/null; then
    command='run slow.weft on a terminal'
    seen=
    for seconds in 3 9 27; do # a busy machine is late
        on_terminal "timeout -s INT $seconds '$weft' run slow.weft"
        grep -qE "running slow.weft:3  [0-9]+ %  [0-9]+ s left$escape" stdout || continue
        seen=yes
        break
    done
    if [ -n "$seen" ]; then good; else bad "$(cat -v stdout)"; fi
    # The last thing is the message, on a line that was cleared.
    tail -n 1 stdout | tr -d '\r' | sed "s/.*$escape\[K//" >last
    same last 'weft: interrupted'
    for silent in "env TERM=dumb '$weft' run" "'$weft' run 2>errors"; do
        command=$silent
        on_terminal "timeout -s INT 3 sh -c \"exec $silent slow.weft\""
        if grep -q 'running slow' stdout errors 2>/dev/null; then bad "$(cat -v stdout)"
        else good; fi
    done
fi
