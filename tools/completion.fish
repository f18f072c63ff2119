# SPDX-License-Identifier: MIT
# Completion of the sheaf command for fish.  Commands, options and values are asked of the sheaf
# that is installed.

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
    sheaf (__sheaf_command) --$argv[1]= 2>&1 < /dev/null |
        sed -n '1s/.*: "" is not //p' | sed 's/,\| or /\n/g' | string trim
end

complete -c sheaf -n 'test -z (__sheaf_command)' -f -a '(__sheaf_commands)'
complete -c sheaf -n 'test -z (__sheaf_command)' -l help -l version
complete -c sheaf -n 'test -n (__sheaf_command)' -a '(string match -q -- "-*" (commandline -ct); and __sheaf_options)'
for option in format to codec remainder missing on-error on-corrupt on-change unknown-keys \
        duplicate-keys key-end check-images resize-mode label-base distribution record-wrapper \
        compression until
    complete -c sheaf -l $option -x -a "(__sheaf_values $option)"
end
complete -c sheaf -l index -x -a 'dali mxnet wids energon'
