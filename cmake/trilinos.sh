# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh disable=SC2154 # variables of prepare.sh
# Sourced by ./test after prepare.sh. `trilinos [ctest arguments]` installs Solder in a private Debian sid root that has
# Trilinos and Open MPI, and builds and runs, against the installed package, the example and the tests of
# Solder::trilinos on 1 to 4 ranks, and the test of the driver under mpirun. `trilinos --times [side] [repetitions]` builds and runs perf_tests/trilinos there
# instead. The root's Kokkos is Trilinos's own, so it is another root than that of ./solder.
trilinos() {
  choice=debian
  root=$cache/debian-sid-trilinos-$machine-2
  packages=g++,cmake,ninja-build,trilinos-all-dev,libscotch-dev,libptscotch-dev,libopenmpi-dev,openmpi-bin
  packages=$packages,libyaml-cpp-dev,libgtest-dev,nlohmann-json3-dev,zlib1g-dev # of the driver and its test
  amount="some three minutes, 2 GB"
  mkdir -p "$source_dir/build" || exit 2
  make_root
  place
  log=$work/trilinos.log
  lock "$source_dir/build/lock"
  mkdir -p "$work"
  rm -rf "$log" "$work/installed"
  say "building... ($log)"
  forget_gone_checkouts
  printf '%s\n' "$source_dir" >"$work/origin"
  synchronise || fail "could not copy the sources to $work"
  of=unit_tests/trilinos
  if [ "${1:-}" = --times ]; then
    of=perf_tests/trilinos
    shift
  fi
  if ! configure solder -DSolder_ENABLE_MPI=ON -DSolder_SINGLE=OFF -DSolder_SCALARS=double -DSolder_ENABLE_TESTS=OFF \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-Og || # for these tests alone
    ! logged where cmake --build "$inside/solder" --parallel "$(jobs)" ||
    ! logged where cmake --install "$inside/solder" --prefix "$inside/installed" ||
    ! logged where cmake -S "$sources/$of" -B "$inside/${of%%_*}" -G Ninja \
      "-DSolder_ROOT=$inside/installed" -DMPIEXEC_PREFLAGS=--oversubscribe ||
    ! logged where cmake --build "$inside/${of%%_*}" --parallel "$(jobs)"; then
    [ -n "${VERBOSE:-}" ] || show_failure
    say "the build failed; full output: $log"
    exit 3
  fi
  unlock
  if [ "$of" = perf_tests/trilinos ]; then
    for ranks in 1 2 3 4; do
      as_root_of_mpi mpirun --oversubscribe -np "$ranks" "$inside/perf/ranks_times" "$@"
    done
  else
    as_root_of_mpi ctest --test-dir "$inside/unit" --output-on-failure "$@"
  fi
}
as_root_of_mpi() { where env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"; }
