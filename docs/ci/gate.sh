#!/bin/sh
# Fails when a case that passed in an earlier report no longer passes.
#
#   gate.sh EARLIER_REPORT COMMAND...
#
# Runs the suite on the adapter COMMAND, writes its report to conform-out/ and compares. Without an earlier report
# everything that fails is new, and the exit code is that of conform. Optional variables:
#
#   CONFORM_OUT      folder of the new report; conform-out
#   CONFORM_OPTIONS  more options of conform, such as "--baseline known.txt --require index"
set -eu

if [ $# -lt 2 ]; then
  echo "usage: gate.sh EARLIER_REPORT COMMAND..." >&2
  exit 2
fi
earlier=$1
shift
out=${CONFORM_OUT:-conform-out}

code=0
# shellcheck disable=SC2086  # the options have to be split
rocketspec conform --report "$out" ${CONFORM_OPTIONS:-} -- "$@" || code=$?
case $code in
  0 | 1 | 4 | 6) ;;  # the report is whole: the comparison decides
  *) exit "$code" ;; # usage, adapter not started, nothing ran, the suite's own error, interrupted
esac

if [ ! -e "$earlier" ]; then
  echo "no report at $earlier to compare with"
  exit "$code"
fi
rocketspec conform-diff "$earlier" "$out"
if [ "$code" -eq 6 ]; then
  echo "the baseline is stale: remove the lines that are named above"
  exit 6
fi
