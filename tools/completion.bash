# SPDX-License-Identifier: MIT
# Completion of the sheaf command for bash.  Commands and options are asked of --help, so that
# they are those of the sheaf that is installed.

_sheaf() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} options

    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sheaf --help 2>/dev/null |
            sed -n 's/^  \([a-z]*\)  .*/\1/p') --help --version" -- "$word")
        return
    fi
    if [ "$word" = = ]; then            # bash takes --name=value apart at the =
        word=
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $before in
    --format | --to | --codec)
        mapfile -t COMPREPLY < <(compgen -W "$(sheaf "$command" "$before=" 2>&1 |
            sed -n '1s/.* is not //; 1s/,\| or / /gp')" -- "$word") ;;
    --remainder)
        mapfile -t COMPREPLY < <(compgen -W 'keep drop pad' -- "$word") ;;
    --missing)
        mapfile -t COMPREPLY < <(compgen -W 'fail skip none' -- "$word") ;;
    --on-error | --on-corrupt | --unknown-keys)
        mapfile -t COMPREPLY < <(compgen -W 'fail skip' -- "$word") ;;
    --distribution)
        mapfile -t COMPREPLY < <(compgen -W 'replicated sharded' -- "$word") ;;
    --record-wrapper)
        mapfile -t COMPREPLY < <(compgen -W 'none recordio' -- "$word") ;;
    --compression)
        mapfile -t COMPREPLY < <(compgen -W 'none gzip' -- "$word") ;;
    --key-end)
        mapfile -t COMPREPLY < <(compgen -W 'first-dot last-dot' -- "$word") ;;
    --check-images)
        mapfile -t COMPREPLY < <(compgen -W 'markers decode none' -- "$word") ;;
    --duplicate-keys)
        mapfile -t COMPREPLY < <(compgen -W 'fail number drop' -- "$word") ;;
    --resize-mode)
        mapfile -t COMPREPLY < <(compgen -W 'shorter longer exact' -- "$word") ;;
    --label-base)
        mapfile -t COMPREPLY < <(compgen -W '0 1' -- "$word") ;;
    --index)
        mapfile -t COMPREPLY < <(compgen -W 'dali mxnet wids energon' -- "$word") ;;
    --s3)
        compopt -o nospace 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -S = -W 'encryption kms-key bucket-key
            encryption-context storage-class acl tags owner requester-pays checksum content-md5' \
            -- "$word") ;;
    *)
        case $word in
        -*)
            options=$(sheaf "$command" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p')
            mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
        *)
            mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        esac ;;
    esac
}
complete -o filenames -F _sheaf sheaf
