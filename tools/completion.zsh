#compdef sheaf
# SPDX-License-Identifier: MIT
# Completion of the sheaf command for zsh.  Commands, options and values are asked of the sheaf
# that is installed.

_sheaf() {
    local -a found
    local command=${words[2]} before=${words[CURRENT-1]}
    if (( CURRENT == 2 )); then
        found=(${(f)"$(sheaf --help 2>/dev/null |
            sed -n 's/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"} --help --version)
        _describe command found
        return
    fi
    if compset -P '--*='; then
        before=${IPREFIX%=}
    fi
    case $before in
    --index) found=(dali mxnet wids energon) ;;
    --*)                                # an option with a few values names them if it gets none
        found=(${=${"$(sheaf $command $before= 2>&1 < /dev/null |
            sed -n '1s/.*: "" is not //p' | sed 's/,\| or / /g')"}}) ;;
    esac
    if (( ${#found} == 0 )); then
        if [[ $PREFIX == -* ]]; then
            found=(${(f)"$(sheaf $command --help 2>/dev/null |
                sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p')"})
        else
            _files
            return
        fi
    fi
    compadd -a found
}
_sheaf "$@"
