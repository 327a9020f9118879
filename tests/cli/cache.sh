# The cache of compiled code: entries that are damaged or another's, folders that cannot
# be written to, disks that are full, processes at the same time.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache
cat >square.weft <<'END'
entry main (n: i64): i64 = i64.sum (map (\x -> x * x) (iota n))
END
answers() {  # answers COMMAND...: natively, as it should
    expect 0 "$@" "$weft" run -e native square.weft 10
    out '285i64'
}
holds() {  # holds N FOLDER: so many entries, and nothing else
    found=$(ls "$2/weft" | wc -l)
    if [ "$found" = "$1" ] && [ "$(ls "$2/weft" | grep -c '\.so$')" = "$1" ]; then good
    else bad "not $1 entries in $2: $(ls "$2/weft")"; fi
}
# WEFT_CC is a copy of cc that counts its calls; of another date it is another one.
printf '#!/bin/sh\necho >>%s/calls\nexec cc "$@"\n' "$PWD" >cc
chmod +x cc
export WEFT_CC=$PWD/cc
calls() {  # calls N: the compiler has been called so often since
    found=$(cat calls 2>/dev/null | wc -l)
    [ "$found" = "$1" ] && good || bad "$found compilers, expected $1"
    rm -f calls
}
answers
answers
calls 1
holds 1 cache
touch -d '2001-02-03' cc
answers
calls 1
holds 2 cache
# The same code in each process: else nothing would be found again.
cat >twice.weft <<'END'
entry main [n] (xs: [n]i32): [n]i32 =
  iterate_until (\v -> i32.sum v > 50) (map (* 2)) xs
END
expect 0 "$weft" dump --stage=c twice.weft
cp stdout first
expect 0 "$weft" dump --stage=c twice.weft
cmp -s first stdout && good || bad "another process makes other code"
# The same with any number of threads, for which there is enough to do.
for i in $(seq 60); do
    echo "def f$i [n] (xs: [n]f64): f64 = (scan f64.max (-$i) (f64.sort (map (\\x -> f64.abs (x - $i)) xs)))[n / 2]"
    sum="${sum-} + f$i xs"
done >large.weft
echo "entry main (xs: []f64): f64 = 0$sum" >>large.weft
printf '#!/bin/sh\nexec cc "$@" -O0\n' >cc0
chmod +x cc0
for threads in 1 4; do
    WEFT_CC=$PWD/cc0 XDG_CACHE_HOME=$PWD/large "$weft" run -T $threads -e native large.weft '[1, 2, 5]' >sum
    ls large/weft >entries$threads
done
if [ "$(cat sum)" = 1714.0f64 ] && [ "$(wc -l <entries1)" -gt 8 ] && cmp -s entries1 entries4; then good
else bad "$(cat sum; diff entries1 entries4)"; fi
# Cut short, empty, a byte changed, nonsense: made anew.
damage() {  # damage COMMAND...: with each entry on its standard input
    for file in cache/weft/*.so; do
        "$@" <"$file" >part
        cat part >"$file"
    done
    answers
    calls 1
    answers
    calls 0
    holds 2 cache
}
damage head -c 5000
damage head -c -1
damage head -c 15
damage true
damage sed 's/\x7fELF/\x7fELG/'
damage echo nonsense
rm cache/weft/*.so
answers
file=$(echo cache/weft/*.so)
rm "$file"
mkdir "$file"  # not even a file
answers
answers
rmdir "$file"
calls 3
# What killed processes left goes after an hour.
mkdir cache/weft/tmp-weft-old cache/weft/tmp-weft-new
echo >cache/weft/tmp-weft-old/code.c
echo >cache/weft/tmp-weft-older.log
touch -d '2 hours ago' cache/weft/tmp-weft-old cache/weft/tmp-weft-older.log
answers
if [ -e cache/weft/tmp-weft-new ] && ! [ -e cache/weft/tmp-weft-old ] &&
    ! [ -e cache/weft/tmp-weft-older.log ]; then good
else bad "$(ls cache/weft)"; fi
rmdir cache/weft/tmp-weft-new
# Two processes at once, a hundred times, with a compiler that is fast.
cp cache/weft/*.so good.so
{
    echo '#!/bin/sh'
    echo 'while [ "$1" != -o ]; do shift; done'
    echo "cp $PWD/good.so \"\$2\""
} >fastcc
chmod +x fastcc
WEFT_CC=$PWD/fastcc
mkdir many
wrong=0
for i in $(seq 100); do
    rm -rf many/weft
    XDG_CACHE_HOME=$PWD/many "$weft" run -e native square.weft 10 >one 2>&1 &
    XDG_CACHE_HOME=$PWD/many "$weft" run -e native square.weft 10 >two 2>&1
    wait
    [ "$(cat one two)" = "$(printf '285i64\n285i64')" ] || wrong=$((wrong + 1))
    [ "$(ls many/weft | wc -l)" = 1 ] || wrong=$((wrong + 1))
done
[ $wrong = 0 ] && good || bad "$wrong of 100 are wrong: $(cat one two; ls many/weft)"
WEFT_CC=$PWD/cc
# No place for it: no cache, and yet it works.
rm -f calls
XDG_CACHE_HOME=$PWD/square.weft
answers
XDG_CACHE_HOME=/proc
answers
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 readonly
    XDG_CACHE_HOME=$PWD/readonly
    answers
else
    answers env -u XDG_CACHE_HOME HOME=/proc
fi
calls 3
XDG_CACHE_HOME=$PWD/cache
# Full disks: of the cache alone, and of all files.
if unshare -rm mount -t tmpfs none "$PWD/many" 2>/dev/null; then
    cat >full <<'END'
mount -t tmpfs -o size="$1" none many
head -c 1M /dev/zero >many/zeros 2>/dev/null
XDG_CACHE_HOME=$PWD/many
shift
exec "$@"
END
    answers unshare -rm sh full 1M
    calls 1
    answers unshare -rm sh full 16M
    calls 1
    expect 0 unshare -rm sh full 1M "$weft" cache list
    expect 0 unshare -rm sh full 1M "$weft" cache clear
else
    skipped=$((skipped + 1))
fi
rm -f cache/weft/*.so calls
(ulimit -f 1; "$weft" run -e native square.weft 10 >small 2>&1)
if grep -q 'the native engine cannot run: ' small; then good; else bad "$(cat small)"; fi
(ulimit -f 1; "$weft" run square.weft 2000000 >small 2>said)
[ "$(cat small)" = 2666664666667000000i64 ] && good || bad "$(cat small said)"
rm -f cache/weft/*.log
holds 0 cache
unset WEFT_CC
# As people see it.
XDG_CACHE_HOME=$PWD/fresh
expect 0 "$weft" cache list
out "0 in $PWD/fresh/weft, 0.0 MB"
answers
expect 0 "$weft" cache list
out_has '1 in '
expect 0 "$weft" cache clear
out '1 removed'
expect 0 "$weft" cache clear
out '0 removed'
expect 2 "$weft" cache
expect 2 "$weft" cache forget
expect 2 "$weft" cache list now
XDG_CACHE_HOME=$PWD/square.weft
expect 1 "$weft" cache list
err_has 'no folder for compiled code'
expect 1 "$weft" cache clear
unset XDG_CACHE_HOME
