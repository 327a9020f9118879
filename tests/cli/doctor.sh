# weft doctor: what it finds, what it misses, and a self-test that can fail.
expect 0 "$weft" doctor
out_has "weft $("$weft" version | cut -d ' ' -f 2)"
for line in 'ok       build ' 'ok       system ' 'ok       processor ' 'ok       memory ' \
    'ok       programs   compile and run' 'Weft runs here'; do
    out_has "$line"
done
expect 0 env WEFT_CC= PATH=/nowhere "$weft" doctor
out_has 'missing  compiler   no cc, gcc or clang'
out_has 'get: the Debian package gcc'
expect 0 env WEFT_CC='no-such-compiler -m64' "$weft" doctor
out_has 'missing  compiler   WEFT_CC=no-such-compiler -m64 does not run'
cat >mycc <<'END'
#!/bin/sh
[ "$1 $2" = "-x --version" ] && echo 'mine 1.2'
END
chmod +x mycc
expect 0 env WEFT_CC='./mycc -x' "$weft" doctor
out_has 'ok       compiler   ./mycc: mine 1.2'
expect 0 env XDG_CACHE_HOME=/dev/null "$weft" doctor
out_has 'missing  cache      /dev/null/weft cannot be written to'
# Without drivers, which may have caches of their own.
expect 0 env WEFT_OPENCL=/nowhere XDG_CACHE_HOME="$PWD/deep/down" "$weft" doctor
out_has "ok       cache      $PWD/deep/down/weft can be written to"
if [ -e deep ]; then bad 'the folder was made'; else good; fi

expect 0 "$weft" doctor --selftest
err ''
out_has ' passed, 0 failed'
mkdir tmp
expect 0 env TMPDIR="$PWD/tmp" "$weft" doctor -s
if [ -z "$(ls -A tmp)" ]; then good; else bad "left in TMPDIR: $(ls -A tmp)"; fi
expect 1 env TMPDIR=/nowhere "$weft" doctor --selftest
out_has 'missing  temporary  /nowhere cannot be written to: No such file or directory'
out_has ' passed, 1 failed'
out_has 'Weft does not run here as it should'
err_has 'FAIL self-test: /nowhere/weft-'
expect 0 "$weft" doctor --selftest --json
out_has '"selftest": {"passed": '
out_has '{"verdict": "ok", "name": "programs", "found": "compile and run", '
if command -v python3 >/dev/null; then
    cp stdout doctor.json
    expect 0 python3 -c 'import json; print(json.load(open("doctor.json"))["selftest"]["failed"])'
    out 0
fi
expect 1 sh -c "'$weft' doctor >/dev/full"
err_has 'the output could not be written'
expect 2 "$weft" doctor who
expect 2 "$weft" doctor --selftst
err_has 'did you mean `--selftest`?'
