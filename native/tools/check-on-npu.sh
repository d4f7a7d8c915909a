#!/usr/bin/env bash
# Builds the native parts on this machine, tests them on card 0, and writes a report to attach to a bug.
#   native/tools/check-on-npu.sh [--report=FILE] [--cann-set-env=PATH] [--simulated] [--no-build]
# Run it in a checkout after npm ci. CANN: $ASCEND_HOME_PATH, else where its installer puts it. Serving goes on meanwhile, but slower.
# Exit code: 0 all passed, 1 something failed (the report says what), 2 wrong usage or nothing to test with.
set -uo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
report="$PWD/npu-report-$(date -u +%Y%m%dT%H%M%SZ).txt"
set_env=""
simulated=""
build=1
for argument in "$@"; do
  case "$argument" in
    --report=*) report="${argument#*=}" ;;
    --cann-set-env=*) set_env="${argument#*=}" ;;
    --simulated) simulated="--simulated" ;;
    --no-build) build="" ;;
    *) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
done

node="$root/node_modules/.bin/node"
if [ ! -x "$node" ]; then
  echo "check-on-npu: $node is not there: run npm ci in $root first" >&2
  exit 2
fi
if ! : > "$report"; then
  echo "check-on-npu: the report cannot be written to $report: give another place with --report=FILE" >&2
  exit 2
fi

# The environment of CANN, as its own file sets it. Simulated cards bring all they need.
cann_home=""
if [ -z "$simulated" ]; then
  for place in "${ASCEND_HOME_PATH:-}" /usr/local/Ascend/cann /usr/local/Ascend/ascend-toolkit/latest "$HOME/Ascend/cann" "$HOME/Ascend/ascend-toolkit/latest" /usr/local/Ascend/latest; do
    [ -n "$place" ] && [ -d "$place" ] && { cann_home="$place"; break; }
  done
  if [ -z "$set_env" ]; then
    for file in "$cann_home/set_env.sh" "$(dirname "${cann_home:-/}")/set_env.sh"; do
      [ -n "$cann_home" ] && [ -f "$file" ] && { set_env="$file"; break; }
    done
  fi
  if [ -z "$set_env" ] && [ -z "${ASCEND_HOME_PATH:-}" ]; then
    echo "check-on-npu: no CANN was found. Name its set_env.sh with --cann-set-env=PATH; npu-console doctor examines the machine. Without a card: --simulated" | tee -a "$report" >&2
    exit 2
  fi
  if [ -n "$set_env" ]; then
    set +u # CANN's script reads variables that need not be set
    # shellcheck disable=SC1090
    source "$set_env" || { echo "check-on-npu: $set_env failed" | tee -a "$report" >&2; exit 2; }
    set -u
  fi
fi

failed=""
# A headed part of the report, shown as it comes; what it runs may fail.
part() {
  local title="$1"
  shift
  printf '\n== %s\n' "$title" | tee -a "$report"
  "$@" 2>&1 | tee -a "$report"
  local code="${PIPESTATUS[0]}"
  [ "$code" = 0 ] || printf '(exit code %s)\n' "$code" | tee -a "$report"
  return "$code"
}
show_file() { [ -r "$1" ] && { echo "$1:"; head -n 40 "$1"; } || echo "$1: not there"; }
show_system() {
  date -u
  uname -srm
  grep -h PRETTY_NAME /etc/os-release
  echo "revision: $(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)"
  echo "node: $("$node" --version)"
  for tool in "${CXX:-c++}" cmake python3; do echo "$tool: $("$tool" --version 2>/dev/null | head -n 1 || true)"; done
}
show_cann() {
  echo "ASCEND_HOME_PATH: ${ASCEND_HOME_PATH:-not set}"
  echo "set_env.sh: ${set_env:-not used}"
  echo "LD_LIBRARY_PATH: ${LD_LIBRARY_PATH:-not set}"
  echo "ASCEND_RT_VISIBLE_DEVICES: ${ASCEND_RT_VISIBLE_DEVICES:-not set}"
  show_file "${ASCEND_HOME_PATH:-$cann_home}/version.cfg"
  show_file /usr/local/Ascend/driver/version.info
  npu-smi info || echo "npu-smi info failed"
}
show_build() {
  (cd "$root" && "$node" scripts/build.mjs --only native) || return 1
  if [ -e "$root/dist/native/backends/npu_ge/libnpu_ge_bridge_cann.so" ]; then echo "The GE bridge was built against CANN's own headers."
  else echo "The GE bridge was built against our declarations: CANN's headers (include/ge/ge_api.h) were not found."; fi
}
run_doctor() { (cd "$root" && "$node" server-core/cli/main.ts doctor --language=en ${simulated:+--npu=simulated}); }
run_self_test() { (cd "$root" && "$node" native/tools/self-test.ts $simulated); }

printf 'NPU Serving Console: check on %s\n' "$([ -n "$simulated" ] && echo 'SIMULATED cards: says nothing about a real one' || echo 'this machine')" | tee -a "$report"
part "System" show_system
[ -n "$simulated" ] || part "CANN and driver" show_cann
if [ -n "$build" ]; then part "Build" show_build || failed="build"; fi
part "Doctor" run_doctor || true # its verdicts are there to be read: not each problem keeps a card from working
if [ -z "$failed" ]; then part "Self-test on card 0" run_self_test || failed="self-test"; fi
printf '\n== Result\n%s\n' "$([ -n "$failed" ] && echo "failed: $failed" || echo 'all passed')" | tee -a "$report"
echo "Report: $report"
[ -z "$failed" ]
