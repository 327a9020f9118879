# weft fmt.
printf 'def f x=x+1 -- one\n\n\n\n-- | Two.\nentry main (x:i32) : i32=f x\n' >loose.weft
printf 'def f x = x + 1  -- one\n\n-- | Two.\nentry main (x: i32): i32 = f x\n' >neat.weft
printf 'def f x = (x +\n' >syntax.weft
neat=$(cat neat.weft)
cp loose.weft in
expect 0 "$weft" fmt -
out "$neat"
err ''
cp loose.weft in
expect 1 "$weft" fmt --check -
out 'standard input'
expect 0 "$weft" fmt --check neat.weft
out ''
expect 1 "$weft" fmt --check neat.weft loose.weft
out 'loose.weft'
# In place; the mode stays, links stay links, what is in order is not written.
cp loose.weft here.weft
chmod 640 here.weft
ln -s here.weft link.weft
expect 0 "$weft" fmt link.weft
out ''
same here.weft "$neat"
[ -L link.weft ] && good || bad 'the link is gone'
[ "$(stat -c %a here.weft)" = 640 ] && good || bad 'the mode changed'
before=$(stat -c %i.%Y.%Z neat.weft)
expect 0 "$weft" fmt neat.weft
[ "$(stat -c %i.%Y.%Z neat.weft)" = "$before" ] && good || bad 'it was written again'
# Mistakes leave the file alone; the others are still done.
before=$(cat syntax.weft)
expect 1 "$weft" fmt syntax.weft loose.weft
err_has 'syntax.weft:1:'
same syntax.weft "$before"
same loose.weft "$neat"
expect 1 "$weft" fmt nowhere.weft
err_has 'nowhere.weft'
expect 1 "$weft" fmt .
expect 2 "$weft" fmt
expect 2 "$weft" fmt --chekc neat.weft
err_has '--check'
[ -z "$(ls ./*.weft.* 2>/dev/null)" ] && good || bad 'something was left behind'
