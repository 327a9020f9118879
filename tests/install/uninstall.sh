# make uninstall, and DESTDIR.
check "make install below DESTDIR" make_product install DESTDIR="$work/stage" \
    PREFIX=/opt/weft
equal "DESTDIR gets the same files" "$(files "$work/stage/opt/weft")" "$(files "$prefix")"
check "make uninstall below DESTDIR" make_product uninstall DESTDIR="$work/stage" \
    PREFIX=/opt/weft
equal "nothing is left below DESTDIR" "$(files "$work/stage")" ""

echo mine >"$prefix/lib/mine"
check "make uninstall" make_product uninstall PREFIX="$prefix"
equal "what is not Weft's stays, the rest goes" "$(files "$prefix")" ./lib/mine
equal "no folder of Weft's is left" "$(find "$prefix" -name weft)" ""
check "make uninstall again" make_product uninstall PREFIX="$prefix"
