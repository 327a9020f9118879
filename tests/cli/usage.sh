# Wrong usage: status 2, one line on what is wrong, a hint. Help: status 0.
expect 2 "$weft"
err_has 'weft: say what to do'
expect 2 "$weft" rnu
err "weft: there is no verb \`rnu\`
hint: did you mean \`weft run\`?"
expect 2 "$weft" compose
err_has 'hint: weft help lists the verbs'
expect 0 "$weft" help
out_has 'Verbs:'
out_has 'Example:'
expect 0 "$weft" --help
out_has 'Verbs:'
verbs=$("$weft" help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
command='help'
if [ "$(echo "$verbs" | wc -l)" -ge 11 ]; then good; else bad "the verbs are: $verbs"; fi
for verb in $verbs; do
    expect 0 "$weft" $verb --help
    out_has "Usage: weft $verb"
    out_has 'Example'
    err ''
    # Every option there is one: with too much said, other things are found wrong.
    for option in $(sed -n '/^Options:/,/^$/s/^  .*\(--[a-z][a-z-]*\).*/\1/p' stdout); do
        command="$verb $option"
        "$weft" $verb $option= </dev/null >stdout 2>stderr
        if grep -q 'there is no option' stderr; then bad "$(cat stderr)"; else good; fi
    done
    # And the page on the command speaks of the verb.
    command="docs/command.md on $verb"
    if grep -q "weft $verb" "$here/../../docs/command.md"; then good; else bad 'nothing'; fi
    expect 0 "$weft" help $verb
    out_has "Usage: weft $verb"
    expect 2 "$weft" $verb --no-such-option
    err_has "there is no option \`--no-such-option\`"
    err_has "hint: see weft $verb --help"
    expect 2 "$weft" $verb -Z
    err_has "there is no option \`-Z\`"
done
expect 2 "$weft" help nothing
expect 2 "$weft" help run check
expect 0 "$weft" version
out_has 'weft 0.'
expect 0 "$weft" --version
out_has 'weft 0.'
expect 2 "$weft" version now
expect 2 "$weft" run
err_has 'name a program to run'
expect 2 "$weft" run --memry=1G x.weft
err_has "did you mean \`--memory\`?"
expect 2 "$weft" run --memory
err_has "the option \`--memory\` needs a value"
expect 2 "$weft" run --binary=yes x.weft
err_has "takes no value"
expect 2 "$weft" run -m 1Q x.weft
err_has "\`1Q\` is not a size"
expect 2 "$weft" check
expect 2 "$weft" test
expect 2 "$weft" dump
expect 2 "$weft" dump a b
expect 2 "$weft" dump --stage=soup a.weft
err_has 'there is no stage of that name'
expect 2 "$weft" dump --after=soup a.weft
err_has 'there is no pass of that name'
expect 2 "$weft" test --jobs=many x
expect 2 "$weft" test --limit=0 x
