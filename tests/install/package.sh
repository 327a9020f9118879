# The header, the libraries, pkg-config and CMake, as a user has them.

declared=$(cc -E -P "$prefix/include/weft.h" | grep -o 'weft_[a-z0-9_]* *(' |
    tr -d ' (' | sort -u)
version=$("$weft" version | sed -n '1s/^weft //p')
node=WEFT_${version%.*}
equal "libweft.so exports what weft.h declares, under a version" \
    "$(nm -D --defined-only "$libdir/libweft.so" | awk '$2 != "A" { print $3 }' | sort)" \
    "$(sed "s/\$/@@$node/" <<<"$declared")"
equal "libweft.a defines what weft.h declares" \
    "$(nm -g --defined-only "$libdir/libweft.a" | awk 'NF == 3 { print $3 }' | sort)" \
    "$declared"
equal "the library says its name and version" \
    "$(readelf -d "$libdir/libweft.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')" \
    "libweft.so.${version%%.*}"
equal "nothing names the folder of the sources or the prefix" \
    "$(grep -rlIF -e "$root" -e "$build" -e "$work" "$prefix")" ""

strict="-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only"
echo '#include <weft.h>' >alone.c
for standard in c99 c11 c17; do
    check "weft.h is $standard" cc -std=$standard $strict -Wstrict-prototypes \
        -I "$prefix/include" alone.c
done
for standard in c++11 c++17 c++20; do
    check "weft.h is $standard" c++ -x c++ -std=$standard $strict -I "$prefix/include" \
        alone.c
done

# A program that includes the header and has names of its own like those of the rooms.
sources="$root/examples/embed/c"
cat >names.c <<'PROGRAM'
#include <weft.h>
int core_build(void), api_guard(void), arena_alloc(void), vec_grow(void), ops(void);
int core_build(void) { return 0; }
int api_guard(void) { return 0; }
int arena_alloc(void) { return 0; }
PROGRAM
mean() {  # mean WHAT COMMAND...: builds ./mean, and runs it
    rm -f mean
    check "$1" "${@:2}"
    equal "$1: runs" "$(LD_LIBRARY_PATH=$libdir ./mean 2>&1)" 3.0f64
}
pkg() { eval "${*:2}" "$(pkg-config ${1:+"$1"} --cflags --libs weft)"; }
equal "pkg-config knows the version" "$(pkg-config --modversion weft)" "$version"
mean "C by pkg-config" pkg '' cc "$sources/mean.c" -o mean
mean "C++ by pkg-config" pkg '' c++ -x c++ "$sources/mean.c" -x none -o mean
check "a static link by pkg-config" pkg --static cc -static "$sources/mean.c" names.c \
    -o mean
equal "a static link by pkg-config: runs alone" "$(env -i ./mean 2>&1)" 3.0f64
mean "libweft.a beside shared libraries" eval cc "$sources/mean.c" names.c -o mean \
    "$(pkg-config --cflags weft)" "'$libdir/libweft.a'" \
    "$(pkg-config --static --libs weft)"
equal "libweft.a beside shared libraries: needs no libweft.so" \
    "$(readelf -d mean | grep libweft)" ""

project() {  # project NAME LINE...: a CMake project of mean.c in NAME/
    mkdir "$1"
    cp "$sources/mean.c" "$1"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' "project($1 C)" "${@:2}" \
        >"$1/CMakeLists.txt"
}
cmake_build() {
    cmake -S "$1" -B "$1/build" && cmake --build "$1/build" -j2 "${@:2}"
}
cp -r "$sources" shared
check "find_package" cmake_build shared
equal "find_package: runs" "$(shared/build/mean 2>&1)" 3.0f64
project static 'find_package(weft 0.1 REQUIRED COMPONENTS static)' \
    'add_executable(mean mean.c)' 'target_link_libraries(mean weft::weft_static)'
check "find_package, static" cmake_build static
equal "find_package, static: runs" "$(static/build/mean 2>&1)" 3.0f64
equal "find_package, static: needs no libweft.so" \
    "$(readelf -d static/build/mean | grep libweft)" ""
project newer 'find_package(weft 9 REQUIRED)'
check "find_package refuses another version" eval '! cmake_build newer'
project odd 'find_package(weft REQUIRED COMPONENTS nonsense)'
check "find_package refuses an unknown component" eval '! cmake_build odd'
project inside "add_subdirectory(\"$root\" weft)" 'foreach(kind weft weft_static)' \
    'add_executable(${kind}_mean mean.c)' \
    'target_link_libraries(${kind}_mean weft::${kind})' 'endforeach()'
check "add_subdirectory" cmake_build inside --target weft_mean --target weft_static_mean
for kind in weft weft_static; do
    equal "add_subdirectory: $kind runs" "$(inside/build/${kind}_mean 2>&1)" 3.0f64
done

# The command alone, in a bare environment.
echo 'def main (xs: []f64): f64 = f64.sum xs' >sum.weft
equal "the installed command runs" "$(env -i "$weft" run sum.weft '[1, 2]' 2>&1)" 3.0f64
