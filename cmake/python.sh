# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh disable=SC2154 # variables of prepare.sh
# Sourced by ./test after prepare.sh. `python [pytest arguments]` builds the wheel of python/ in a private Debian sid
# root that has Python, SciPy, nanobind and scikit-build-core, installs it there in an environment of its own that is
# made anew, and runs pytest in a folder where no source is.
python() {
  choice=debian
  root=$cache/debian-sid-python-$machine-1
  packages=g++,cmake,ninja-build,libkokkos-dev,python3-dev,python3-venv,python3-pip,python3-numpy,python3-scipy
  packages=$packages,python3-pytest,python3-hypothesis,python3-matplotlib,python3-nanobind,python3-scikit-build-core
  amount="some two minutes, 1.5 GB"
  mkdir -p "$source_dir/build" || exit 2
  make_root
  place
  log=$work/python.log
  lock "$source_dir/build/lock"
  mkdir -p "$work"
  rm -rf "$log" "$work/wheel" "$work/environment"
  say "building... ($log)"
  forget_gone_checkouts
  printf '%s\n' "$source_dir" >"$work/origin"
  synchronise || fail "could not copy the sources to $work"
  CMAKE_BUILD_PARALLEL_LEVEL=$(jobs)
  if ! logged where env "CMAKE_BUILD_PARALLEL_LEVEL=$CMAKE_BUILD_PARALLEL_LEVEL" python3 -m pip wheel --verbose --no-index \
    --no-deps --no-build-isolation --wheel-dir "$inside/wheel" "-Cbuild-dir=$inside/python" \
    '-Ccmake.define.CMAKE_CXX_FLAGS_RELEASE=-Og -DNDEBUG' "$sources/python" || # -Og for these tests alone
    ! logged where python3 -m venv --system-site-packages "$inside/environment" ||
    ! logged where sh -c "'$inside/environment/bin/pip' install --no-index --no-deps '$inside'/wheel/*.whl"; then
    [ -n "${VERBOSE:-}" ] || show_failure
    say "the build failed; full output: $log"
    exit 3
  fi
  unlock
  where sh -c 'cd "$0" && shift && exec "$@"' "$inside/environment" - \
    "$inside/environment/bin/python" -m pytest -p no:cacheprovider "$sources/python" "$@"
}
