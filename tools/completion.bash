# SPDX-License-Identifier: MIT
# Completion of the sheaf command for bash.  Commands, options and values are asked of the sheaf
# that is installed.

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
    --s3)
        compopt -o nospace 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -S = -W 'encryption kms-key bucket-key
            encryption-context storage-class acl tags owner requester-pays checksum content-md5' \
            -- "$word")
        return ;;
    --index)
        options='dali mxnet wids energon' ;;
    --*)                                # an option with a few values names them if it gets none
        options=$(sheaf "$command" "$before=" 2>&1 < /dev/null |
            sed -n '1s/.*: "" is not //p' | sed 's/,\| or / /g') ;;
    esac
    if [ -z "$options" ]; then
        case $word in
        -*)
            options=$(sheaf "$command" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p') ;;
        *)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}
complete -o filenames -F _sheaf sheaf
