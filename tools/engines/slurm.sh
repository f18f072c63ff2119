#!/bin/sh
# SPDX-License-Identifier: MIT
# slurm.sh PLAN PARTS [SBATCH-OPTION...]
#
# Packs PLAN as a Slurm array with one task for each part, and commits when all tasks have
# succeeded. Slurm puts the tasks of a lost node back into the queue. A task whose program has
# failed puts itself back, at most three times.
set -eu
[ $# -ge 2 ] || { echo "usage: slurm.sh PLAN PARTS [SBATCH-OPTION...]" >&2; exit 2; }
export PLAN="$1" PARTS="$2"     # the jobs inherit the environment
shift 2

array=$(sbatch --parsable --job-name=sheaf-pack --array="0-$((PARTS - 1))" --requeue \
    --open-mode=append "$@" <<'JOB'
#!/bin/sh
sheaf pack --plan "$PLAN" --part "$SLURM_ARRAY_TASK_ID/$PARTS" && exit
[ "${SLURM_RESTART_COUNT:-0}" -lt 3 ] &&
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
exit 1
JOB
)
commit=$(sbatch --parsable --job-name=sheaf-commit --dependency="afterok:${array%%;*}" \
    --kill-on-invalid-dep=yes --requeue "$@" <<'JOB'
#!/bin/sh
exec sheaf commit "$PLAN"
JOB
)
echo "array ${array%%;*}, commit ${commit%%;*}"
