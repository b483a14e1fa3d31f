# Completion of shelf command lines in bash; made by: shelf completions bash

_shelf() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="" path="" i
    [ "$COMP_CWORD" -gt 0 ] && prev="${COMP_WORDS[COMP_CWORD - 1]}"
    # bash takes --name=value for three words
    if [ "$cur" = "=" ]; then
        cur=""
    elif [ "$prev" = "=" ] && [ "$COMP_CWORD" -gt 1 ]; then
        prev="${COMP_WORDS[COMP_CWORD - 2]}"
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${COMP_WORDS[i]}" in
            " add") path="$path ${COMP_WORDS[i]}" ;;
            " order") path="$path ${COMP_WORDS[i]}" ;;
            " order create") path="$path ${COMP_WORDS[i]}" ;;
            " order list") path="$path ${COMP_WORDS[i]}" ;;
            " fail") path="$path ${COMP_WORDS[i]}" ;;
            " help") path="$path ${COMP_WORDS[i]}" ;;
            " completions") path="$path ${COMP_WORDS[i]}" ;;
            *) break ;;
        esac
    done
    COMPREPLY=()
    case "$path:$prev" in
        " add:--home") _shelf_files -d; return ;;
        " add:--kind" | " add:-k") _shelf_words "audiobook ebook"; return ;;
        " add:--chapter") :; return ;;
        " add:--limit" | " add:-l") :; return ;;
        " add:--offset" | " add:-o") :; return ;;
        " add:--tag" | " add:-t") :; return ;;
        " order create:--title" | " order create:-t") :; return ;;
        " order create:--from") :; return ;;
        " order create:--until") :; return ;;
        " help:--format") _shelf_words "text man json"; return ;;
    esac
    case "$path" in
        "")
            case "$cur" in
                -*) _shelf_words "--help" ;;
                *) _shelf_words "add order fail help completions" ;;
            esac ;;
        " add")
            case "$cur" in
                -*) _shelf_words "--home --kind -k --chapter --limit -l --offset -o --tag -t --check --no-check --dry-run -n --json --quiet -q --help" ;;
                *) _shelf_files -f ;;
            esac ;;
        " order")
            case "$cur" in
                -*) _shelf_words "--help" ;;
                *) _shelf_words "create list" ;;
            esac ;;
        " order create")
            case "$cur" in
                -*) _shelf_words "--title -t --from --until --help" ;;
                *) : ;;
            esac ;;
        " order list")
            case "$cur" in
                -*) _shelf_words "--help" ;;
                *) : ;;
            esac ;;
        " fail")
            case "$cur" in
                -*) _shelf_words "--plainly --help" ;;
                *) : ;;
            esac ;;
        " help")
            case "$cur" in
                -*) _shelf_words "--format --help" ;;
                *) : ;;
            esac ;;
        " completions")
            case "$cur" in
                -*) _shelf_words "--help" ;;
                *) _shelf_words "bash zsh fish" ;;
            esac ;;
    esac
}

_shelf_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_shelf_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

complete -F _shelf shelf
