# SPDX-License-Identifier: MIT
# Completion of the sheaf command for fish.  Commands, options and formats are asked of the sheaf
# that is installed; values of options are those of tools/completion.bash.

function __sheaf_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and echo $words[2]
end

function __sheaf_commands
    sheaf --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end

function __sheaf_options
    sheaf (__sheaf_command) --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p'
end

function __sheaf_values     # of the option that stands before the cursor, NAME
    sheaf (__sheaf_command) --$argv[1]= 2>&1 | sed -n '1s/.* is not //; 1s/,\| or /\n/gp' |
        string trim
end

complete -c sheaf -n 'test -z (__sheaf_command)' -f -a '(__sheaf_commands)'
complete -c sheaf -n 'test -z (__sheaf_command)' -l help -l version
complete -c sheaf -n 'test -n (__sheaf_command)' -a '(string match -q -- "-*" (commandline -ct); and __sheaf_options)'
for option in format to codec
    complete -c sheaf -l $option -x -a "(__sheaf_values $option)"
end
complete -c sheaf -l remainder -x -a 'keep drop pad'
complete -c sheaf -l on-error -x -a 'fail skip'
complete -c sheaf -l on-corrupt -x -a 'fail skip'
complete -c sheaf -l distribution -x -a 'replicated sharded'
complete -c sheaf -l record-wrapper -x -a 'none recordio'
complete -c sheaf -l compression -x -a 'none gzip'
complete -c sheaf -l label-base -x -a '0 1'
complete -c sheaf -l index -x -a 'dali mxnet wids energon'
