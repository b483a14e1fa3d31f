#compdef shelf
# Completion of shelf command lines in zsh; made by: shelf completions zsh

_shelf() {
    local context state line
    typeset -A opt_args
    _arguments -C \
        '(-h --help)'{-h,--help}'[Show this help.]' \
        '1: :->command' \
        '*:: :->rest'
    case $state in
        command)
            local -a commands=(
                'add:Put books on the shelf.'
                'order:Make and list orders.'
                'fail:Fail.'
                'help:Explain a command.'
                'completions:Print a completion script for a shell.'
            )
            _describe command commands ;;
        rest)
            case $line[1] in
                add) _shelf_add ;;
                order) _shelf_order ;;
                fail) _shelf_fail ;;
                help) _shelf_help ;;
                completions) _shelf_completions ;;
            esac ;;
    esac
}

_shelf_add() {
    _arguments -s -S \
        '(--home)''--home=[The shelf.]:folder:_files -/' \
        '(--kind -k)''--kind=[What they are.]:kind:(audiobook ebook)' \
        '(--kind -k)''-k+[What they are.]:kind:(audiobook ebook)' \
        '(--chapter)''--chapter=[How long a chapter is at most.]:time: ' \
        '(--limit -l)''--limit=[Refuse a file of more than so many bytes.]:bytes: ' \
        '(--limit -l)''-l+[Refuse a file of more than so many bytes.]:bytes: ' \
        '(--offset -o)''--offset=[Where to begin, in seconds.]:number: ' \
        '(--offset -o)''-o+[Where to begin, in seconds.]:number: ' \
        '*''--tag=[What they will be found under.]:text: ' \
        '*''-t+[What they will be found under.]:text: ' \
        '(--check --no-check)''--check[Read every file before any is added.]' \
        '(--check --no-check)''--no-check[Read every file before any is added.]' \
        '(--dry-run -n)''--dry-run[Only say what would be done.]' \
        '(--dry-run -n)''-n[Only say what would be done.]' \
        '(--json)''--json[Print results as JSON.]' \
        '(--quiet -q)''--quiet[Print only results and errors.]' \
        '(--quiet -q)''-q[Print only results and errors.]' \
        '(-h --help)'{-h,--help}'[Show this help.]' \
        '*:path:_files'
}

_shelf_order() {
    local context state line
    typeset -A opt_args
    _arguments -C \
        '(-h --help)'{-h,--help}'[Show this help.]' \
        '1: :->command' \
        '*:: :->rest'
    case $state in
        command)
            local -a commands=(
                'create:Make an order.'
                'list:List orders.'
            )
            _describe command commands ;;
        rest)
            case $line[1] in
                create) _shelf_order_create ;;
                list) _shelf_order_list ;;
            esac ;;
    esac
}

_shelf_order_create() {
    _arguments -s -S \
        '(--title -t)''--title=[The book.]:id: ' \
        '(--title -t)''-t+[The book.]:id: ' \
        '(--from)''--from=[When it begins.]:date: ' \
        '(--until)''--until=[When it ends.]:date: ' \
        '(-h --help)'{-h,--help}'[Show this help.]' \
        ':reader: '
}

_shelf_order_list() {
    _arguments -s -S \
        '(-h --help)'{-h,--help}'[Show this help.]'
}

_shelf_fail() {
    _arguments -s -S \
        '(--plainly)''--plainly[With an error that knows no hint.]' \
        '(-h --help)'{-h,--help}'[Show this help.]'
}

_shelf_help() {
    _arguments -s -S \
        '(--format)''--format=[Text to read here, a manual page for man, or the command table as JSON.]:text|man|json:(text man json)' \
        '(-h --help)'{-h,--help}'[Show this help.]' \
        '*:command: '
}

_shelf_completions() {
    _arguments -s -S \
        '(-h --help)'{-h,--help}'[Show this help.]' \
        ':shell:(bash zsh fish)'
}

if [ "$funcstack[1]" = "_shelf" ]; then
    _shelf "$@"
else
    compdef _shelf shelf
fi
