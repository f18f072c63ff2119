#!/bin/sh
# SPDX-License-Identifier: MIT
# mpirun.sh PLAN RANKS [MPIRUN-OPTION...]
# Packs PLAN with a part a rank, and commits it.  MPI ends all ranks when one has died; what they
# had finished by then stays, so that another go has only the rest to do.
set -eu
[ $# -ge 2 ] || { echo "usage: mpirun.sh PLAN RANKS [MPIRUN-OPTION...]" >&2; exit 2; }
plan=$1 ranks=$2
shift 2

for _ in 1 2 3; do
    mpirun -np "$ranks" "$@" sheaf pack --plan "$plan" && exec sheaf commit "$plan"
done
exit 1
