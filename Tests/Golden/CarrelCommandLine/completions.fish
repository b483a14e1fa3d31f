# Completion of shelf command lines in fish; made by: shelf completions fish

# Whether the words before the first option are these, or begin with these for a command without subcommands.
function __shelf_at --argument-names exactly
    set -l words (commandline -opc)
    set -e words[1]
    set -l leading
    for word in $words
        string match -q -- '-*' $word; and break
        set -a leading $word
    end
    set -l wanted $argv[2..]
    test (count $leading) -ge (count $wanted); or return 1
    test $exactly = begin; or test (count $leading) -eq (count $wanted); or return 1
    set -l count (count $wanted)
    test $count -eq 0; or test "$leading[1..$count]" = "$wanted"
end

complete -c shelf -f

complete -c shelf -n '__shelf_at exactly' -a add -d 'Put books on the shelf.'
complete -c shelf -n '__shelf_at exactly' -a order -d 'Make and list orders.'
complete -c shelf -n '__shelf_at exactly' -a fail -d 'Fail.'
complete -c shelf -n '__shelf_at exactly' -a help -d 'Explain a command.'
complete -c shelf -n '__shelf_at exactly' -a completions -d 'Print a completion script for a shell.'
complete -c shelf -n '__shelf_at exactly' -s h -l help -d 'Show this help.'

complete -c shelf -n '__shelf_at begin add' -l home -r -f -a '(__fish_complete_directories)' -d 'The shelf.'
complete -c shelf -n '__shelf_at begin add' -l kind -s k -r -f -a 'audiobook ebook' -d 'What they are.'
complete -c shelf -n '__shelf_at begin add' -l chapter -r -f -d 'How long a chapter is at most.'
complete -c shelf -n '__shelf_at begin add' -l limit -s l -r -f -d 'Refuse a file of more than so many bytes.'
complete -c shelf -n '__shelf_at begin add' -l offset -s o -r -f -d 'Where to begin, in seconds.'
complete -c shelf -n '__shelf_at begin add' -l tag -s t -r -f -d 'What they will be found under.'
complete -c shelf -n '__shelf_at begin add' -l check -d 'Read every file before any is added.'
complete -c shelf -n '__shelf_at begin add' -l no-check -d 'Read every file before any is added.'
complete -c shelf -n '__shelf_at begin add' -l dry-run -s n -d 'Only say what would be done.'
complete -c shelf -n '__shelf_at begin add' -l json -d 'Print results as JSON.'
complete -c shelf -n '__shelf_at begin add' -l quiet -s q -d 'Print only results and errors.'
complete -c shelf -n '__shelf_at begin add' -F -d 'The files to add.'
complete -c shelf -n '__shelf_at begin add' -s h -l help -d 'Show this help.'

complete -c shelf -n '__shelf_at exactly order' -a create -d 'Make an order.'
complete -c shelf -n '__shelf_at exactly order' -a list -d 'List orders.'
complete -c shelf -n '__shelf_at exactly order' -s h -l help -d 'Show this help.'

complete -c shelf -n '__shelf_at begin order create' -l title -s t -r -f -d 'The book.'
complete -c shelf -n '__shelf_at begin order create' -l from -r -f -d 'When it begins.'
complete -c shelf -n '__shelf_at begin order create' -l until -r -f -d 'When it ends.'
complete -c shelf -n '__shelf_at begin order create' -s h -l help -d 'Show this help.'

complete -c shelf -n '__shelf_at begin order list' -s h -l help -d 'Show this help.'

complete -c shelf -n '__shelf_at begin fail' -l plainly -d 'With an error that knows no hint.'
complete -c shelf -n '__shelf_at begin fail' -s h -l help -d 'Show this help.'

complete -c shelf -n '__shelf_at begin help' -l format -r -f -a 'text man json' -d 'Text to read here, a manual page for man, or the command table as JSON.'
complete -c shelf -n '__shelf_at begin help' -s h -l help -d 'Show this help.'

complete -c shelf -n '__shelf_at begin completions' -f -a 'bash zsh fish' -d 'The shell.'
complete -c shelf -n '__shelf_at begin completions' -s h -l help -d 'Show this help.'
