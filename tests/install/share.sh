# The manual page and the completions: they must tell all that the help texts tell.

verbs=$("$weft" help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
check "weft help lists verbs" [ "$(wc -w <<<"$verbs")" -ge 8 ]
options() {  # of a verb: "-o" and "--output" of "  -o, --output FILE  where to write"
    "$weft" help "$1" | grep -E '^  -' | sed 's/^  //; s/  .*//' |
        grep -oE -- '--?[a-zA-Z][a-z-]*|--' | sort -u
}

page=$(find "$prefix" -name weft.1)
if has groff; then
    check "the manual page is well-formed" groff -man -Tutf8 -ww -z "$page"
    equal "the manual page: no warnings" "$(cat out)" ""
    groff -man -Tascii -P-c "$page" | sed 's/.\x08//g; s/\x1b\[[0-9]*m//g' >page
    for verb in $verbs; do
        sed -n "/^   weft $verb\$/,/^   weft \|^[A-Z]/p" page | tail -n +2 >section
        check "the manual page has $verb" grep -q "weft $verb" section
        for option in $(options "$verb"); do
            check "the manual page has $verb $option" \
                grep -qE -- "(^|[ ,[])$option([ ,=.]|\$|])" section
        done
    done
    # PATH and HOME mean here what they mean everywhere.
    for name in $(grep -rhoE 'getenv\("[A-Z_]+"' "$root/src" | grep -oE '[A-Z_]{2,}' |
        grep -vxE 'PATH|HOME' | sort -u); do
        check "the manual page has $name" grep -q "$name" page
    done
else skip "the manual page: there is no groff"; fi

mkdir sub "with blank"
touch a.npy b.csv notes.c old.core prog.fut "with blank/x.weft"
printf "%s\n" "-- | Adds." "entry plus [n] (xs: [n]i32) = i32.sum xs" "entry plus' x = x" \
    "def main = 3" >prog.weft
echo 'def main (x: i32) = x' >main.weft

# Each line: the words before the cursor | what is offered, in order of the alphabet.
cat >asked <<'WANTED'
run |main.weft old.core prog.fut prog.weft sub with blank
run p|prog.fut prog.weft
run prog.weft |a.npy b.csv plus plus' sub with blank
run prog.weft pl|plus plus'
run main.weft m|main
run main.weft main |a.npy b.csv sub with blank
run prog.weft -o |a.npy b.csv sub with blank
run prog.weft -m |
run prog.weft --o|--output
check m|main.weft
dump o|old.core
dump --st|--stage=
data |convert random show
data show |a.npy b.csv sub with blank
help ru|run
run "with |with blank
run with\ |with blank
run with\ blank/|with blank/x.weft
WANTED
cat >ask.bash <<'SCRIPT'
. "$1"
complete -p weft >/dev/null || exit 1
read -ra COMP_WORDS <<<"$3"
case $3 in
*"with "* | *"with\\ "*) COMP_WORDS=(run "${3#run }") ;;
*' ') COMP_WORDS+=('') ;;
esac
COMP_WORDS=("$2" "${COMP_WORDS[@]}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_weft weft "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort
SCRIPT
bash_completion="$prefix/share/bash-completion/completions/weft"
ask_bash() { LC_ALL=C bash ask.bash "$bash_completion" "$weft" "$1" 2>&1; }
while IFS='|' read -r asked wanted; do
    equal "bash completes 'weft $asked'" "$(ask_bash "$asked" | paste -sd ' ')" "$wanted"
done <asked
equal "bash completes verbs" "$(ask_bash ' ')" "$(sort <<<"$verbs")"
for verb in $verbs; do
    equal "bash completes options of $verb" "$(ask_bash "$verb -" | sed 's/=$//')" \
        "$(options "$verb" | LC_ALL=C sort)"
done
# Every ending that `weft run --help` names is one of a value.
endings=$("$weft" help run | tr '\n' ' ' | grep -o 'A word that ends.*is a *file' |
    grep -oE '\.[a-z]+' | sort -u)
check "weft help run names endings" [ "$(wc -w <<<"$endings")" -ge 9 ]
for ending in $endings; do
    touch "value$ending"
    equal "bash completes $ending" "$(ask_bash 'run prog.weft plus value')" "value$ending"
    rm "value$ending"
done

if has zsh; then
    # What the completion asks of zsh is said instead of done.
    cat >ask.zsh <<'SCRIPT'
setopt extendedglob
_describe() { print -rl -- ${${(P)2}%%:*} }
_files() { print -rl -- ${~2}(N) *(N/) }
_message() { :; }
words=($2 ${(z)3}) CURRENT=$#words
[[ $3 != *' ' ]] || { words+=('') CURRENT=$#words }
PREFIX=$words[CURRENT]
. $1
SCRIPT
    zsh_completion="$prefix/share/zsh/site-functions/_weft"
    ask_zsh() {
        LC_ALL=C zsh -f ask.zsh "$zsh_completion" "$weft" "$1" 2>&1 | LC_ALL=C sort
    }
    # zsh itself keeps what begins with the word, and takes quotes off.
    grep -vE '^[^|]*(["\\]|[^ ]\|)' asked >asked.zsh
    while IFS='|' read -r asked wanted; do
        equal "zsh completes 'weft $asked'" "$(ask_zsh "$asked" | paste -sd ' ')" "$wanted"
    done <asked.zsh
    equal "zsh completes verbs" "$(ask_zsh ' ')" "$(sort <<<"$verbs")"
    for verb in $verbs; do
        equal "zsh completes options of $verb" "$(ask_zsh "$verb -" | sed 's/=$//')" \
            "$(options "$verb" | LC_ALL=C sort)"
    done
    equal "zsh knows whose completion it is" "$(head -n 1 "$zsh_completion")" \
        "#compdef weft"
else skip "completion in zsh: there is no zsh"; fi
