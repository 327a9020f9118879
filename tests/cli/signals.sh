# Interrupts, lost output and outputs that cannot be: a message, status 1, nothing left.
gone() {  # gone STATUS PROCESS WHAT: how a process in the background ends
    command=$3
    wait "$2" 2>/dev/null
    status=$?
    if [ $status = "$1" ]; then good; else bad "status $status, expected $1"; fi
}
nothing_left() {
    if ls -A | grep -qE 'part|XXXX|\.[A-Za-z0-9]{6}$'; then bad "left behind: $(ls -A)"
    else good; fi
}
cat >endless.weft <<'END'
entry main (x: i64): i64 = loop x while x < 1 do x - 1
entry long (n: i64): []i64 = iota n
END
for signal in INT TERM HUP; do
    expect 1 timeout --foreground --preserve-status -s $signal 0.5 "$weft" run endless.weft 0 -o out.npy
    out ''
    err 'weft: interrupted'
    if [ -e out.npy ]; then bad 'an output of an interrupted run'; else good; fi
done
# While it waits for its input, and while nobody takes its output.
mkfifo input output
sleep 20 >input &
sleeper=$!
"$weft" run endless.weft <input >stdout 2>stderr &
reader=$!
sleep 0.5
kill -TERM $reader
gone 1 $reader 'run <input'
err 'weft: interrupted'
sleep 20 <output &
sleeper2=$!
"$weft" run endless.weft long 1000000 >output 2>stderr &
writer=$!
sleep 1
kill -TERM $writer
gone 1 $writer 'run >output'
err 'weft: interrupted'
kill $sleeper2
# A second interrupt kills, here where the first one finds no end of a file.
mkfifo slow.npy
sleep 20 >slow.npy &
sleeper2=$!
"$weft" run endless.weft slow.npy >stdout 2>stderr &
reader=$!
sleep 0.5
kill -TERM $reader
sleep 0.8
kill -TERM $reader 2>/dev/null
gone 143 $reader 'run slow.npy'
kill $sleeper $sleeper2
# A signal that is ignored, as under nohup, stays so.
sh -c "trap '' HUP; exec '$weft' run endless.weft 0" >stdout 2>stderr &
kept=$!
sleep 0.5
kill -HUP $kept
sleep 0.3
command='kill -HUP under nohup'
if kill -0 $kept 2>/dev/null; then good; else bad 'it ended'; fi
kill -TERM $kept
gone 1 $kept 'run under nohup'
# weft test: its children end with it.
cat >hang.weft <<'END'
-- ==
-- input { 0i64 } output { 1i64 }
entry main (x: i64): i64 = loop x while x < 1 do x - 1
END
"$weft" test hang.weft >stdout 2>stderr &
parent=$!
sleep 0.5
children=$(cat /proc/$parent/task/$parent/children 2>/dev/null)
kill -TERM $parent
gone 1 $parent 'test hang.weft'
err 'weft: interrupted'
sleep 0.3
for child in $children; do
    if grep -q '^State:.[^ZX]' "/proc/$child/status" 2>/dev/null
    then bad "child $child lives on"
    else good; fi
done
nothing_left

# Output that is lost.
printf 'entry main: i32 = 1\n' >one.weft
closed() {  # closed COMMAND...: its output goes to a pipe that nobody reads
    { "$@" 2>stderr; echo $? >status; } | true
    command="$* | true"
    sleep 0.1
}
expect 1 sh -c "'$weft' run one.weft >/dev/full"
err_has 'the output could not be written: No space left on device'
expect 1 sh -c "'$weft' help >/dev/full"
err_has 'the output could not be written'
expect 1 sh -c "'$weft' run one.weft >&-"
err_has 'the output could not be written'
closed "$weft" run endless.weft long 100000
same status 1
err_has 'the output could not be written: Broken pipe'
expect 1 sh -c "ulimit -f 1; exec '$weft' run endless.weft long 1000000 >big"
err_has 'the output could not be written: File too large'

# Outputs that cannot be are found before the work begins: this one would not end.
mkdir folder.npy
expect 1 "$weft" run endless.weft 0 -o nowhere/out.npy
err 'weft run: cannot write `nowhere/out.npy`: No such file or directory'
expect 1 "$weft" run endless.weft 0 -o folder.npy
err 'weft run: cannot write `folder.npy`: Is a directory'
expect 1 "$weft" run endless.weft 0 -o one.weft/out.npy
err 'weft run: cannot write `one.weft/out.npy`: Not a directory'
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod 500 closed
    expect 1 "$weft" run endless.weft 0 -o closed/out.npy
    err 'weft run: cannot write `closed/out.npy`: Permission denied'
fi
# When a later file fails, the earlier ones are named.
printf 'entry main: (i32, f64, i64) = (1, 2, 3)\n' >three.weft
ln -s /dev/full full.npy
expect 1 "$weft" run three.weft -o a.npy -o b.npy -o full.npy
err_has 'cannot write `full.npy`: No space left on device'
err_has 'note: written before that: `a.npy`, `b.npy`'
expect 0 "$weft" data show a.npy b.npy
# Folders that cannot be read.
expect 1 "$weft" run folder.npy
err_has 'Is a directory'
expect 1 "$weft" check folder.npy
err_has 'Is a directory'
if [ "$(id -u)" != 0 ]; then
    mkdir dark && cp hang.weft dark && chmod 000 dark
    expect 1 "$weft" test dark
    err_has 'cannot read `dark`: Permission denied'
    chmod 700 dark
fi
nothing_left
