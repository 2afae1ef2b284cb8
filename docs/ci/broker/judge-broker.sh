#!/bin/sh
# Starts a name server and a broker, sends the workload, kills, restarts, and judges the store.
#
#   BROKER_START   command that starts the broker in the foreground; needed
#   STORE          its store directory; needed
#   NAMESRV_START  command that starts the name server; empty where one runs
#   NAMESRV        its address (127.0.0.1:9876)
#   KILLS SEED MESSAGES OPTIONS   of `rocketspec workload` (2, 0, 2000, none)
#   BASELINE       file of known failures; empty for none
#   OUT            directory for the report, summary.md and the badges (out)
#   TOOLS          folders that go before PATH for rocketspec, not for the broker
set -eu
: "${BROKER_START:?the command that starts the broker in the foreground}"
: "${STORE:?the store directory of the broker}"
OUT=${OUT:-out}
NAMESRV=${NAMESRV:-127.0.0.1:9876}
mkdir -p "$OUT"
if [ -n "${NAMESRV_START:-}" ]; then
  sh -c "exec $NAMESRV_START" > "$OUT/namesrv.log" 2>&1 &
  namesrv=$!
  trap 'kill "$namesrv"' EXIT
fi
code=0
# The broker keeps the PATH of its image, and OPTIONS are meant to be split.
# shellcheck disable=SC2097,SC2098,SC2086
PATH="${TOOLS:+$TOOLS:}$PATH" rocketspec workload --namesrv "$NAMESRV" --store "$STORE" \
  --start "PATH='$PATH'; export PATH; $BROKER_START" \
  --kills "${KILLS:-2}" --seed "${SEED:-0}" --messages "${MESSAGES:-2000}" ${BASELINE:+--baseline "$BASELINE"} ${OPTIONS:-} \
  --force -o "$OUT/manifest.json" --report "$OUT" > "$OUT/verdict.txt" || code=$?
cat "$OUT/verdict.txt"
{
  echo '```'
  tail -n 1 "$OUT/verdict.txt"
  echo '```'
  if [ -f "$OUT/report.md" ]; then cat "$OUT/report.md"; fi
} > "$OUT/summary.md"
exit "$code"
