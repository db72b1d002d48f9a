# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh disable=SC2154,SC2046,SC2086 # lists of words are words
# Sourced by ./test after prepare.sh. `fuzz MINUTES [TARGET...]` builds the targets of unit_tests/fuzz with clang's
# libFuzzer and sanitizers. It runs all of them, or the named ones, one after another, for MINUTES in total. It fails if
# something is found.
#
#   build/fuzz/corpus      inputs that reached code which no other input did: the next run starts from them
#   build/fuzz/findings    inputs that make a target fail
#   build/fuzz/*.log       the output of libFuzzer

clang_packages="clang libclang-rt-dev libomp-dev"

has_clang() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(char const*, unsigned long) { return 0; }' |
    logged where clang++ -fopenmp -fsanitize=fuzzer,address -x c++ - -o "$inside/has_clang"
}

# Installs clang in the private root; elsewhere that is left to the user.
need_clang() {
  ! has_clang || return 0
  [ "$choice" = debian ] ||
    fail "fuzzing needs clang++ with libFuzzer and OpenMP; on Debian: apt-get install $clang_packages"
  say "installing clang in $root: once, 80 MB to fetch ($log)"
  set -- env DEBIAN_FRONTEND=noninteractive apt-get -o APT::Sandbox::User=root
  if ! logged in_root "$@" update ||
    ! logged in_root "$@" install --yes --no-install-recommends $clang_packages || ! has_clang; then
    fail "could not install $clang_packages in $root; full output: $log"
  fi
}

build_fuzzers() {
  log=$work/fuzz.log
  mkdir -p "$work"
  rm -f "$log"
  [ "$choice" != debian ] || synchronise || fail "could not copy the sources to $work"
  need_clang
  say "building the fuzz targets..."
  if ! configure fuzz -DCMAKE_CXX_COMPILER=clang++ -DSolder_ENABLE_FUZZERS=ON -DSolder_ENABLE_TESTS=OFF ||
    ! logged where cmake --build "$inside/fuzz" --target fuzzers --parallel "$(jobs)"; then
    [ -n "${VERBOSE:-}" ] || show_failure
    say "the build failed; full output: $log"
    exit 3
  fi
}

# fuzz_target NAME SECONDS SEED
fuzz_target() {
  corpus=$kept/corpus/$1 log=$kept/$1.log
  mkdir -p "$corpus"
  (here "$work/fuzz/bin/fuzz_$1" -seed="$3" -max_total_time="$2" -max_len=1024 -timeout=20 \
    -print_final_stats=1 -artifact_prefix="$kept/findings/$1-" "$corpus" "$seeds/$1" >"$log" 2>&1)
  code=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  say "$1: ${executions:-no} executions, seed $3: $([ "$code" = 0 ] && echo nothing || echo "something was") found"
  [ "$code" != 0 ] || return 0
  grep -a -m 3 -E 'does not hold|ERROR:|runtime error|what\(\)' "$log" >&2
  say "the input is in $kept/findings; in unit_tests/fuzz/corpus/$1 it becomes a test; full output: $log"
  return 1
}

fuzz() {
  case ${1:-} in '' | *[!0-9]*) fail "--fuzz needs a number of minutes, as in ./test --fuzz 10" ;; esac
  minutes=$1
  shift
  seeds=$source_dir/unit_tests/fuzz/corpus
  for target; do
    [ -n "$target" ] && [ -d "$seeds/$target" ] || fail "no fuzz target '$target'; known targets: $(ls -x "$seeds")"
  done
  choose
  lock "$source_dir/build/lock"
  build_fuzzers
  unlock
  kept=$source_dir/build/fuzz
  mkdir -p "$kept/findings"
  [ $# -gt 0 ] || set -- $(ls "$seeds")
  if [ -w /dev/shm ]; then TMPDIR=$(mktemp -d /dev/shm/solder-fuzz.XXXXXX); else TMPDIR=$(mktemp -d); fi
  trap 'rm -rf "$TMPDIR"' EXIT
  trap 'exit 130' INT TERM HUP
  export TMPDIR ASAN_OPTIONS="malloc_context_size=4:${ASAN_OPTIONS:-}"
  found=0
  for target; do
    fuzz_target "$target" $((minutes * 60 / $#)) "$(date +%s)" || found=1
  done
  return $found
}
