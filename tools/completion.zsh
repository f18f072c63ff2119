#compdef sheaf
# SPDX-License-Identifier: MIT
# Completion of the sheaf command for zsh.  Commands, options and formats are asked of the sheaf
# that is installed; values of options are those of tools/completion.bash.

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
    --format | --to | --codec)
        found=(${=${"$(sheaf $command $before= 2>&1 |
            sed -n '1s/.* is not //; 1s/,\| or / /gp')"}}) ;;
    --remainder) found=(keep drop pad) ;;
    --on-error | --on-corrupt) found=(fail skip) ;;
    --distribution) found=(replicated sharded) ;;
    --record-wrapper) found=(none recordio) ;;
    --compression) found=(none gzip) ;;
    --label-base) found=(0 1) ;;
    --index) found=(dali mxnet wids energon) ;;
    *)
        if [[ $PREFIX == -* ]]; then
            found=(${(f)"$(sheaf $command --help 2>/dev/null |
                sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p')"})
        else
            _files
            return
        fi ;;
    esac
    compadd -a found
}
_sheaf "$@"
