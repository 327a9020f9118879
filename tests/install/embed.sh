# examples/embed: built as its users build it, and used.

cp -r "$root/examples/embed/." .
check "make" make -C c
export LD_LIBRARY_PATH="$libdir"
equal "mean" "$(c/mean 2>&1)" 3.0f64
c/rod rod.weft 1000 300 >warmest 2>/dev/null
# After t steps the heat is 1000 C(2t, t) / 4^t where it began.
check "rod's answer is right" awk '
    BEGIN { want = 1000; for (t = 1; t <= 300; t++) want *= (2 * t - 1) / (2 * t) }
    /^warmest/ { found++; off = $2 / want - 1; if (off * off > 1e-24 || $5 != 500) bad = 1 }
    END { exit found != 1 || bad }' warmest

echo 'entry diffuse (steps: i64) (rod: []f64) = map (+ nothing) rod' >bad.weft
check "rod tells errors" eval '! c/rod bad.weft 10 1'
equal "rod tells errors with their places" "$(cat out)" \
    "bad.weft:1:50: error: unknown name \`nothing\` [unknown-name]"
echo 'entry diffuse (steps: i64) (rod: []f64) = [rod[steps]]' >bad.weft
check "rod tells errors of a run" eval '! c/rod bad.weft 10 12'
equal "rod tells where a run ended" "$(sed 's/ \[.*//' out)" \
    "bad.weft:1:44: error: index 12 is outside"
check "rod tells of a missing file" eval \
    '! c/rod none.weft 10 1 2>told && grep none.weft told'

mkfifo progress
c/rod rod.weft 10000 1000000000 2>progress & rod=$!
exec 3<progress
IFS= read -r -d % -t 60 -u 3 line
check "rod shows progress" grep -qE '(compiling|running) +[0-9]+ ' <<<"$line"
kill -INT $rod
IFS= read -r -d '' -t 60 -u 3 line
wait $rod
equal "Ctrl-C stops rod: status" "$?" 1
check "Ctrl-C stops rod: message" grep -q 'rod: stopped' <<<"$line"
exec 3<&-

if has python3; then
    for numpy in with without; do
        if [ $numpy = with ] && ! python3 -c 'import numpy' 2>/dev/null; then
            skip "Python with NumPy: there is no NumPy"
            continue
        fi
        python3 "$root/tests/install/embed.py" python $numpy >out 2>&1
        if [[ $(tail -n 1 out) =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
            passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        else failed=$((failed + 1)); fi
        sed "\$d; s/^/$numpy NumPy: /" out
    done
else skip "Python: there is no python3"; fi
unset LD_LIBRARY_PATH
