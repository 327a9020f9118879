# weft build and libweftrt, as a user has them; examples/embed/built.

declared=$(cc -E -P "$prefix/include/weft_rt.h" | grep -o 'weft_rt_[a-z0-9_]* *(' |
    tr -d ' (' | sort -u)
version=$("$weft" version | sed -n '1s/^weft //p')
equal "libweftrt.so exports what weft_rt.h declares, under a version" \
    "$(nm -D --defined-only "$libdir/libweftrt.so" | awk '$2 != "A" { print $3 }' | sort)" \
    "$(sed "s/\$/@@WEFTRT_${version%.*}/" <<<"$declared")"
equal "libweftrt.a defines what weft_rt.h declares" \
    "$(nm -g --defined-only "$libdir/libweftrt.a" | awk 'NF == 3 { print $3 }' | sort)" \
    "$declared"
equal "libweftrt.so needs the C library alone" "$(readelf -d "$libdir/libweftrt.so" |
    sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^lib[cm]\.so')" ""
check "libweftrt is small" [ "$(size "$libdir/libweftrt.so" | awk 'END { print $1 + $2 }')" -lt 65536 ]
strict="-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only"
echo '#include "forms.h"' >alone.c
check "weft build" "$weft" build "$root/tests/build/forms.weft"
for standard in c99 c11 c17; do
    check "its header is $standard" cc -std=$standard $strict -Wstrict-prototypes \
        -I "$prefix/include" alone.c
done
for standard in c++11 c++17 c++20; do
    check "its header is $standard" c++ -x c++ -std=$standard $strict \
        -I "$prefix/include" alone.c
done
for cc in gcc clang; do
    has $cc || { skip "strict $cc: there is none"; continue; }
    for options in "-std=c11 -O2" "-std=gnu17 -O3 -march=native" "-O0"; do
        check "its C passes $cc $options" $cc $options -Wall -Wextra -Wpedantic -Werror \
            -I "$prefix/include" -c forms.c -o forms.o
    done
    equal "its C defines its entries, $cc" \
        "$(nm -g --defined-only forms.o | awk '{ print $3 }' | sort)" \
        "$(grep -o 'forms_[a-z_]*(' forms.h | tr -d '(' | sort)"
done
check "-ffast-math is refused" eval \
    '! cc -ffast-math -I "$prefix/include" -c forms.c 2>told && grep fast-math told'

cp -r "$root/examples/embed/." .
want=$(cd c && make -s && cd .. && LD_LIBRARY_PATH=$libdir c/rod rod.weft 500 200 2>/dev/null)
rod() {  # rod WHAT COMMAND...: builds ./rod, and runs it
    rm -f rod
    check "$1" "${@:2}"
    equal "$1: the same number" "$(LD_LIBRARY_PATH=$libdir ./rod 500 200 2>&1)" "$want"
}
export PATH="$prefix/bin:$PATH"
check "make" make -C built
mv built/rod .
equal "make: the same number" "$(LD_LIBRARY_PATH=$libdir ./rod 500 200)" "$want"
equal "one thread: the same number" \
    "$(LD_LIBRARY_PATH=$libdir taskset -c 0 ./rod 500 200 2>&1)" "$want"
check "make STATIC=1" make -C built STATIC=1
equal "make STATIC=1: runs alone" "$(env -i built/rod 500 200 2>&1)" "$want"
cp built/heat.[ch] built/rod.c .
pkg() { eval "${*:2}" "$(pkg-config ${1:+"$1"} --cflags --libs weftrt)"; }
rod "C by pkg-config" pkg '' cc rod.c heat.c -o rod
check "the C of weft build" cc -O2 -c -I "$prefix/include" heat.c
rod "C++ by pkg-config" pkg '' c++ -x c++ rod.c -x none heat.o -o rod
! has clang || rod "clang by pkg-config" pkg '' clang -O3 rod.c heat.c -o rod
rod "libweftrt.a" pkg '' cc rod.c heat.c "'$libdir/libweftrt.a'" -o rod
feature=
for name in avx512f avx2 fma; do grep -qw $name /proc/cpuinfo || feature=$name; done
if [ "$(uname -m)" = x86_64 ] && [ -n "$feature" ]; then
    check "C for another CPU" pkg '' cc -O2 -m$feature heat.c -c -o other.o
    check "C for another CPU: links" pkg '' cc rod.c other.o -o rod
    equal "C for another CPU: says so" "$(LD_LIBRARY_PATH=$libdir ./rod 5 2 2>&1)" \
        "rod: diffuse: compiled for a CPU with $feature, which this one lacks"
else skip "C for another CPU: this one has all"; fi
check "weft build -o heat.so" "$weft" build rod.weft -o heat.so
rod "a shared library of weft build" cc -I "$prefix/include" rod.c "$PWD/heat.so" -o rod
equal "heat.so needs the C library alone" "$(readelf -d heat.so |
    sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^lib[cm]\.so')" ""
check "find_package" eval 'cmake -S built -B built/build &&
    cmake --build built/build'
equal "find_package: the same number" "$(built/build/rod 500 200 2>&1)" "$want"

LD_LIBRARY_PATH=$libdir ./rod 100000 1000000000 2>stopped & pid=$!
# Not before it is that program and listens: until then it is this shell, which listens
# too.
is_listening() {
    grep -q '^Name:.rod$' /proc/$1/status && grep -q '^SigCgt:.*[2367abef]$' /proc/$1/status
}
until is_listening $pid || ! kill -0 $pid; do sleep 0.1; done
kill -INT $pid
wait $pid
equal "Ctrl-C stops it: status" "$?" 1
equal "Ctrl-C stops it: message" "$(cat stopped)" "rod: cancelled"
PATH=${PATH#*:}
