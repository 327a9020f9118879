# weft build: names, files, refusals; what it makes is run here once, and in tests/build.
cat >p.weft <<'END'
-- | Adds */ up /* what
-- it gets.
entry total [n] (xs: [n]i32) (weights: [n](f32, i64)) : i32 = reduce (+) 0 xs
entry total' (new: i32) (_: ()) (int: i32) : (i32, ()) = (new / int, ())
END
left() {  # left FILE...: nothing else is in the folder
    command="ls -A made"
    ls -A made >found
    echo "$*" | tr ' ' '\n' | sed '/^$/d' >wanted
    if cmp -s found wanted; then good; else bad "$(cat found)"; fi
}
mkdir made
expect 0 "$weft" build p.weft
out ''
err ''
if [ -f p.h ] && [ -f p.c ]; then good; else bad 'no p.h or p.c'; fi
expect 0 "$weft" build p.weft -o made/sums
left sums.c sums.h
cp made/sums.h stdout
out_has ' * it gets.'
out_has 'Adds * / up / * what'
out_has 'entry total (xs: [n]i32) (weights: [n](f32, i64)): i32 */'
out_has 'WeftRtStatus sums_total(WeftRt *rt, const weft_i32_1d *xs, const weft_f32_1d *weights_0, const weft_i64_1d *weights_1, int32_t *out);'
out_has 'WeftRtStatus sums_total_(WeftRt *rt, int32_t new_, int32_t int_, int32_t *out0);'
rm made/*
expect 0 "$weft" build -e "total'" p.weft --entry="total'" --output=made/one
if grep -q total made/one.h && ! grep -q xs made/one.h; then good; else bad 'entries'; fi
rm made/*

# What cannot be.
expect 2 "$weft" build
err_has 'name a program'
expect 2 "$weft" build p.weft q.weft
err_has '`q.weft` is one word too many'
expect 1 "$weft" build p.weft -e totl -o made/x
err_has "p.weft has no entry \`totl\`; its entries are \`total\`, \`total'\`"
expect 1 "$weft" build p.weft -o made/two-parts
err_has 'names in C cannot begin with `two-parts`'
expect 1 "$weft" build p.weft -o made/
err_has 'names in C cannot begin with ``'
expect 1 "$weft" build p.weft -o made/weft_rt.so
err_has "names in C that begin with weft_ are the library's"
expect 1 "$weft" build nowhere.weft -o made/x
err_has 'cannot read `nowhere.weft`: No such file or directory'
echo 'entry f (x: i32) : #a i32 | #b = if x > 0 then #a x else #b' >s.weft
expect 1 "$weft" build s.weft -o made/x
err_has '`f` cannot be built: sums have no form in C'
echo 'entry f (x: i32) : i32 = #[trace] x' >s.weft
expect 1 "$weft" build s.weft -o made/x
err_has '`f` cannot be built: values are traced'
echo "entry f (x: i32) = x entry f' (x: i32) = x entry f_ (x: i32) = x" >s.weft
expect 1 "$weft" build s.weft -o made/x
err_has '`f_` cannot be built: another entry has that name in C'
echo 'entry f (x: [3]()) : i32 = 1' >s.weft
expect 1 "$weft" build s.weft -o made/x
err_has '`f` cannot be built: arrays of () have no form in C'
echo 'def f (x: i32) : i32 = y' >s.weft
expect 1 "$weft" build s.weft -o made/x
err_has 's.weft:1:24: error: unknown name `y`'
echo 'def f (x: i32) : i32 = x' >s.weft
expect 1 "$weft" build s.weft -o made/x
err_has 's.weft has no entry'
left

# Files appear when both are complete.
expect 1 "$weft" build p.weft -o none/x
err_has 'cannot write `none/x.h`: No such file or directory'
mkdir made/x.c
expect 1 "$weft" build p.weft -o made/x
err_has 'cannot write `made/x.c`: Is a directory'
left x.c
rmdir made/x.c
if [ -c /dev/full ]; then
    ln -s /dev/full made/x.c
    expect 1 "$weft" build p.weft -o made/x
    err_has 'cannot write `made/x.c`: No space left on device'
    left x.c
    rm made/x.c
fi
echo mine >made/x.h
expect 1 env TMPDIR="$PWD" WEFT_CC=/bin/false "$weft" build p.weft -o made/x.so
err_has 'the compiler /bin/false failed'
left x.h
expect 1 env WEFT_CC=none "$weft" build p.weft -o made/x.so
err_has 'there is no compiler `none`'
if [ "$(cat made/x.h)" = mine ]; then good; else bad 'x.h was replaced'; fi
rm made/x.h

# A file name that C would not take as it is.
cp p.weft 'a"b\%0?.weft'
expect 0 "$weft" build 'a"b\%0?.weft' -o made/x
out ''

cat >main.c <<'END'
#include <stdio.h>
#include "made/q.h"
int main(void) {
    int32_t data[] = {1, 2, 3}, sum = 0;
    float f[] = {1, 2, 3};
    int64_t g[] = {1, 2};
    weft_i32_1d xs = {data, {3}}, bad = {data, {-1}}, none = {0, {3}}, empty = {0, {0}};
    weft_f32_1d fs = {f, {3}}, no_fs = {0, {0}};
    weft_i64_1d gs = {g, {3}}, two = {g, {2}}, no_gs = {0, {0}};
    WeftRtOptions tiny = {sizeof tiny, 1, 1000}, broken = {0, 1, 0}, small = {sizeof small, 2, 1 << 20};
    weft_i64_1d counts;
    WeftRt *rt = weft_rt_open(NULL);
    printf("%d", q_total(rt, &xs, &fs, &gs, &sum));
    printf(" %d", sum);
    printf(" %d", q_total(rt, &empty, &no_fs, &no_gs, &sum));
    printf(" %d\n", sum);
    printf("%d ", q_total(rt, &xs, &fs, &two, &sum));
    puts(weft_rt_error(rt));
    printf("%d ", q_total(rt, &bad, &fs, &gs, &sum));
    puts(weft_rt_error(rt));
    printf("%d ", q_total(rt, &none, &fs, &gs, &sum));
    puts(weft_rt_error(rt));
    printf("%d ", q_total(rt, &xs, NULL, &gs, &sum));
    puts(weft_rt_error(rt));
    printf("%d ", q_total(NULL, &xs, &fs, &gs, &sum));
    puts(weft_rt_error(NULL));
    printf("%d ", q_total_(rt, 1, 0, &sum));
    puts(weft_rt_error(rt));
    weft_rt_cancel(rt);
    printf("%d ", q_total_(rt, 1, 1, &sum));
    puts(weft_rt_error(rt));
    printf("%d", q_total_(rt, 7, 2, &sum));
    printf(" %d%s\n", sum, weft_rt_error(rt));
    printf("%d %d\n", weft_rt_open(&tiny) == NULL, weft_rt_open(&broken) == NULL);
    weft_rt_free(rt, NULL);
    weft_rt_close(rt);
    rt = weft_rt_open(&small);
    printf("%d ", q_count(rt, 1000000, &counts));
    puts(weft_rt_error(rt));
    printf("%d", q_count(rt, 1000, &counts));
    printf(" %d %d\n", (int)counts.shape[0], (int)counts.data[999]);
    weft_rt_close(rt);
    weft_rt_close(NULL);
    return 0;
}
END
cat >q.weft <<'END'
entry total [n] (xs: [n]i32) (weights: [n](f32, i64)) : i32 =
  reduce (+) 0 xs + i32.i64 (reduce (+) 0 (map (.1) weights))
entry total' (new: i32) (_: ()) (int: i32) : (i32, ()) = (new / int, ())
entry count (n: i64) : []i64 = scan (+) 0 (replicate n 1)
END
if [ "$memory" = unlimited ]; then skipped=$((skipped + 1)) # the runtime is sanitized
elif command -v cc >/dev/null; then
    expect 0 "$weft" build q.weft -o made/q.so
    expect 0 cc -Wall -Wextra -Werror -I"$here/../../include" main.c "$PWD/made/q.so" -o main
    expect 0 ./main
    out '0 9 0 0
4 total: `weights_0` and `weights_1` differ in size 1: 3 and 2
4 total: `xs` is no array: a size is negative, or they are too large
4 total: `xs` is no array: its data is NULL
4 total: an argument or a result is NULL
4 there is no WeftRt: out of memory
1 q.weft:3:59: division by zero
3 cancelled
0 3
1 1
2 out of memory: 8000000 bytes were wanted
0 1000 1000'
else skipped=$((skipped + 1)); fi

# It is for any CPU, and so without vectors of this one's.
echo 'entry squares (xs: []f64): []f64 = map (\x -> x * x) xs' >squares.weft
expect 0 "$weft" build squares.weft
if [ -f squares.c ] && ! grep -q vector_size squares.c; then good; else bad 'vectors'; fi
