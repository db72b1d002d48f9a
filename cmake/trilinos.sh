# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh disable=SC2154 # variables of prepare.sh
# Sourced by ./test after prepare.sh. `trilinos [ctest arguments]` installs Solder in a private Debian sid root that has
# Trilinos and Open MPI, and builds and runs, against the installed package, the example and the tests of
# Solder::trilinos on 1 to 4 ranks. The root's Kokkos is Trilinos's own, so it is another root than that of ./solder.
trilinos() {
  choice=debian
  root=$cache/debian-sid-trilinos-$machine-1
  packages=g++,cmake,ninja-build,trilinos-all-dev,libscotch-dev,libptscotch-dev,libopenmpi-dev,openmpi-bin
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
  if ! configure solder -DSolder_ENABLE_DRIVER=OFF -DSolder_ENABLE_COMPILED=OFF -DSolder_ENABLE_TESTS=OFF ||
    ! logged where cmake --install "$inside/solder" --prefix "$inside/installed" ||
    ! logged where cmake -S "$sources/unit_tests/trilinos" -B "$inside/trilinos" -G Ninja \
      "-DSolder_ROOT=$inside/installed" -DMPIEXEC_PREFLAGS=--oversubscribe ||
    ! logged where cmake --build "$inside/trilinos" --parallel "$(jobs)"; then
    [ -n "${VERBOSE:-}" ] || show_failure
    say "the build failed; full output: $log"
    exit 3
  fi
  unlock
  where env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    ctest --test-dir "$inside/trilinos" --output-on-failure "$@"
}
