# SPDX-License-Identifier: Apache-2.0
# Of what `weft explain` prints under "Program": every name is bound before it is used, and
# none is bound twice. Prints those that are not.
BEGIN {
    count = split("if else for while in true false", list, " ")
    for (i = 1; i <= count; i++) words[list[i]] = 1
}

# Each name of the text is bound there, or used.
function look(text, is_bound,    name) {
    while (match(text, /[A-Za-z_0-9][A-Za-z0-9_.']*[(]?/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (name ~ /^[0-9]|[(]$|[.](inf|nan)/ || name in words) continue
        if (is_bound && name in bound) print "bound twice: " name " in " $0
        if (!is_bound && !(name in bound)) print "bound nowhere: " name " in " $0
        bound[name] = 1
    }
}

# What is in front of an arrow is bound behind it.
function look_in(text,    start, size) {
    while (match(text, /[{][^{}]* ->/)) {
        start = RSTART
        size = RLENGTH
        look(substr(text, 1, start), 0)
        look(substr(text, start, size), 1)
        text = substr(text, start + size)
    }
    look(text, 0)
}

/^Program$/ { is_told = 1 }
/^Tasks$/ { is_told = 0 }
is_told && /[|]/ {
    line = substr($0, index($0, "|") + 2)
    gsub(/[{]as for |, with | % of |[.][.] [(][0-9]+ more[)]/, " ", line)
    if (line ~ /^(entry|def) /) {
        gsub(/: [^,)]*/, "", line)
        look(substr(line, index(line, "(") + 1), 1)
    } else if (match(line, /^ +[A-Za-z_][^{}()]* = /)) {
        left = substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 1)
        sub(/^split /, "", line)
        sub(/ into /, ", ", line)
        look(left, 1)
        look_in(line)
    } else {
        look_in(line)
    }
}
