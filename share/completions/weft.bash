# SPDX-License-Identifier: Apache-2.0
# Completion of weft for bash: verbs and options as the help texts of the command tell
# them, the entries of the program named, and files by their endings.

# The verbs, or (_weft_help WEFT VERB) the options of one, a line each. After an option
# that takes a value stands the name of that: "--output FILE".
_weft_help() {
    "$1" help ${2+"$2"} 2>/dev/null | awk -v section="${2+Options:}" '
        /^[A-Z][a-z]*:$/ { on = $0 == (section ? section : "Verbs:"); next }
        !on || !/^  [^ ]/ { next }
        !section { print $1; next }
        {
            sub(/^  /, ""); sub(/  .*/, ""); gsub(/,/, ""); sub(/=/, "= ")
            value = $NF ~ /^-/ ? "" : " " $NF
            for (i = 1; i <= NF && $i ~ /^-/; i++) print $i value
        }'
}

# The entries of a program: those it marks, else `main`.
_weft_entries() {
    awk '$1 == "entry" { sub(/[^A-Za-z0-9_\047].*/, "", $2); print $2; found = 1 }
        $1 == "def" && $2 ~ /^main([^A-Za-z0-9_\047]|$)/ { main = 1 }
        END { if (main && !found) print "main" }' "$1" 2>/dev/null
}

# Offers words (not by `compgen -W`, to which quotes in them would mean something).
_weft_words() {
    local offer
    for offer in $1; do
        [[ $offer != "$word"* ]] || COMPREPLY+=("$offer")
    done
}

# Offers the files whose endings match, and folders to go on with.
_weft_files() {
    local file
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do
        if [[ -d $file || $file =~ \.($1)$ ]]; then COMPREPLY+=("$file"); fi
    done < <(compgen -f -- "$word")
}

_weft() {
    local programs='weft|fut|core' values='npy|npz|png|csv|txt|bin|in|out|val'
    local weft=${COMP_WORDS[0]/#\~\//$HOME/} verb=${COMP_WORDS[1]}
    local word=${2//\\/} options value program= next=0 i
    word=${word#[\"\']}
    word=${word/#\~\//$HOME/}
    COMPREPLY=()
    if [[ $COMP_CWORD == 1 || $verb == help ]]; then
        _weft_words "$(_weft_help "$weft")"
        return
    fi
    options=$(_weft_help "$weft" "$verb")
    if [[ $word == -* ]]; then
        _weft_words "$(sed 's/ .*//' <<<"$options")"
        [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
        return
    fi
    value=$(awk -v option="$3" '$1 == option { print $2 }' <<<"$options")
    case $value in
    '') ;;
    FILE*) _weft_files "$values"; return ;;
    *) return ;;
    esac
    for ((i = 2; i < COMP_CWORD && next == 0; i++)); do
        [[ ${COMP_WORDS[i]} =~ \.($programs)$ ]] || continue
        program=${COMP_WORDS[i]/#\~\//$HOME/} next=$((i + 1))
    done
    case $verb in
    run)
        if [[ -z $program ]]; then _weft_files "$programs"; return; fi
        [[ $next != "$COMP_CWORD" ]] || _weft_words "$(_weft_entries "$program")"
        _weft_files "$values" ;;
    data)
        if [[ $COMP_CWORD == 2 ]]; then _weft_words 'show convert random'
        else _weft_files "$values"; fi ;;
    *) _weft_files "$programs" ;;
    esac
}
complete -F _weft weft
