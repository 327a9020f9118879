# weft check and weft dump.
printf 'entry main (x: i32) : i32 = x + 1\n' >good.weft
printf 'entry main (x: i32) : i32 = x + y\nentry b : bool = 1i32\n' >wrong.weft
printf 'entry main (x: i32) : i32 = (x +\n' >syntax.weft
expect 0 "$weft" check good.weft
out ''
err ''
expect 1 "$weft" check wrong.weft
err_has 'wrong.weft:1:33: error:'
err_has 'wrong.weft:2:'
expect 1 "$weft" check good.weft wrong.weft syntax.weft
err_has 'wrong.weft:1:33: error:'
err_has 'syntax.weft:'
expect 0 "$weft" check -W good.weft
expect 1 "$weft" check nowhere.weft
err_has 'nowhere.weft'
expect 0 "$weft" dump --stage=ast good.weft
out_has 'main'
expect 0 "$weft" dump good.weft --stage=typed
out_has 'main'
expect 0 "$weft" dump good.weft
out_has 'entry main'
cp stdout good.core
expect 0 "$weft" dump --stage=core --after=lower good.weft
out_has 'entry main'
expect 0 "$weft" dump --after=inline good.weft
expect 0 "$weft" dump --stage=loop --after=ranges good.weft
expect 2 "$weft" dump --stage=core --after=ranges good.weft
expect 2 "$weft" dump --stage=loop --after=inline good.weft
expect 0 "$weft" dump --stage=loop --after=lower good.weft
expect 0 "$weft" dump --stage=task good.weft
out_has 'task main('
expect 0 "$weft" dump --stage=task --after=rules good.weft
expect 2 "$weft" dump --stage=task --after=lower good.weft
expect 2 "$weft" dump --stage=core --after=rules good.weft
printf 'entry main (xs: []f32) = map (* 2) xs\nentry half (xs: []f16) = map (* 2) xs\n' >maps.weft
for stage in opencl cuda; do
    expect 0 "$weft" dump --stage=$stage maps.weft
    out_has 'weft_1_launch_0('
    out_has 'half_of_double('
done
expect 0 "$weft" dump --stage=loop maps.weft
out_has 'for.parallel'
expect 0 "$weft" dump --stage=lifted maps.weft
out_has 'nothing to lift'
cat >product.weft <<'END'
entry main [n][m][p] (a: [n][m]f64) (b: [m][p]f64) =
  map (\x -> map (\y -> f64.sum (map2 (*) x y)) (transpose b)) a
END
expect 0 env WEFT_VECTOR_BYTES=32 "$weft" dump --stage=lifted product.weft
out_has '6 rows × 2 vectors'
expect 0 env WEFT_VECTOR_BYTES=64 "$weft" dump --stage=lifted product.weft
out_has '12 rows × 2 vectors'
# Sixteen images side by side want too much memory, eight do not.
expect 0 env WEFT_VECTOR_BYTES=32 "$weft" dump --stage=loop "$here/../../bench/suite/work/lenet.weft"
out_has 'alloc(6272i64)'
expect 1 "$weft" dump wrong.weft
expect 0 "$weft" run good.core 41
out '42i32'
printf 'entry main(' >bad.core
expect 1 "$weft" run bad.core
err_has 'bad.core:1:'
# A text that can be read, but an operator lacks what it is to be told.
echo 'entry main(n: i64) -> ([]i64) { xs: []i64 = generate(n) {|i: i64| -> i} -> xs }' >bad.core
for verb in run explain 'dump --stage=loop' 'dump --stage=task'; do
    expect 1 "$weft" $verb bad.core
    err_has 'generate'
done

# Large results go past the caches where whole lines are stored, or both halves of one after
# the other, also from loops in loops.
cat >sums.weft <<'end'
entry main (xs: []f32): []f32 = scan (+) 0 xs
end
expect 0 env WEFT_VECTOR_BYTES=64 "$weft" dump --stage=c sums.weft
out_has 'weft_stream_f32x16(&v'
out_has '4.0 * v2 >= 8388608'
expect 0 env WEFT_VECTOR_BYTES=32 "$weft" dump --stage=c sums.weft
out_has 'weft_stream_f32x8(&v'
# What another kernel reads, or the next turn, does so only if it is four times as large.
cat >read.weft <<'end'
entry main [n] (xs: [n]f32): [n]f32 =
  let ys = map (* 2) xs in map (\i -> ys[i] + ys[i * 7 % n]) (iota n)
end
expect 0 "$weft" dump --stage=c read.weft
out_has '4.0 * v2 >= 8388608'
out_has '4.0 / 4 * v2 >= 8388608'
cat >turns.weft <<'end'
entry main (k: i64) (xs: []f32): []f32 =
  loop xs for _i < k do map (/ f32.sum xs) (filter (> 0.5) xs)
end
expect 0 "$weft" dump --stage=c turns.weft
out_has '4.0 / 4 * v2 >= 8388608'
