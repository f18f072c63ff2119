#!/bin/sh
# SPDX-License-Identifier: MIT
# mpirun.sh PLAN RANKS [MPIRUN-OPTION...]
#
# Packs PLAN with one part for each MPI rank, and commits. When one rank dies, MPI ends all other
# ranks. Shards that are finished by then are kept, so another attempt packs only the missing
# shards.
set -eu
[ $# -ge 2 ] || { echo "usage: mpirun.sh PLAN RANKS [MPIRUN-OPTION...]" >&2; exit 2; }
plan=$1 ranks=$2
shift 2

for _ in 1 2 3; do
    mpirun -np "$ranks" "$@" sheaf pack --plan "$plan" && exec sheaf commit "$plan"
done
exit 1
