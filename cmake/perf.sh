# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by ./solder perf, after prepare.sh. `perf` builds solder_perf, with peers from Debian's packages where
# --with names them, and runs it.

perf_help() {
  cat <<'END'
usage: ./solder perf FILE.yaml [more.yaml ...] [--set section.key=value ...]
                     [--compare OLD.json] [--with eigen,petsc] [--peers]
Times what the files describe, which are those of ./solder with two keys more:
  measure:
    solve              a fixed number of iterations; the default
    setup              fsai's set-up by phase, with its memory
    kernels            the kernels of an iteration
    batch              all systems of problem.batch at once, and one after another
    spmv               y = A x
    triangular         solves with the factors of ILU(0), or with a triangular matrix
    multi_dot          h = V^H y; 'multi_dot: {rows: ..., columns: [...]}' in place of a problem
    batched_cholesky   'batched_cholesky: {matrices: ..., orders: [...]}' likewise
    copy               b = a; 'copy: {rows: [...]}' likewise
  compare: [viennacl, kokkos_kernels, vendor, eigen, petsc], or some of these libraries
Writes JSON, a page (HTML) and a picture (SVG): where output says, else FILE.json and beside it.
  --with eigen,petsc   installs these from Debian into the private root of ./solder
  --compare OLD.json   the page compares with these earlier results
  --peers              says which libraries were found
END
}

# The Debian packages of a peer.
packages_of() {
  case $1 in
    eigen) echo libeigen3-dev ;;
    petsc) echo petsc-dev pkgconf ;;
    *) fail "--with takes eigen or petsc, not '$1'; ViennaCL: name its folder in ViennaCL_ROOT; kokkos_kernels" \
         "and the vendor's libraries are used where CMake finds them" ;;
  esac
}

# Installs packages into the private root, and only there.
install_packages() { # PACKAGE...
  if [ "$choice" != debian ]; then
    say "--with installs only into the private Debian root (SOLDER_KOKKOS=debian); here:" "apt-get install $*"
    return
  fi
  log=$work/install.log
  missing=
  for package; do
    in_root dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  say "installing$missing into $root ($log)"
  mkdir -p "$work"
  rm -f "$log"
  lock "$cache/lock"
  # shellcheck disable=SC2086
  if ! { logged in_root apt-get update && logged in_root apt-get install --yes --no-install-recommends $missing; }; then
    tail -n 5 "$log" >&2
    fail "could not install$missing; full output: $log"
  fi
  unlock
  rm -f "$work/stamp.solder_perf" "$work/configured.perf"
}

# Says at once, not after a build for cores, that a file needs a GPU.
needs_gpu() { # solder_perf's arguments
  case "$devices $description $*" in
    *CUDA* | *HIP* | *SYCL* | *execution.space=*) return ;;
  esac
  for file; do
    case $(words_of "$file") in
      *'space: gpu'*) fail "$file needs a GPU, and this build is for cores: put SOLDER_DEVICES=CUDA (AMD: HIP) before" \
        "the command, or take what its first lines say of cores" ;;
    esac
  done
}

perf() { # solder_perf's arguments, and --with PEER
  with='' count=$#
  while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    case $argument in
      --with)
        [ "$count" -gt 0 ] || fail "--with needs a peer after it: eigen or petsc"
        with="$with $1"
        shift
        count=$((count - 1))
        ;;
      --with=*) with="$with ${argument#--with=}" ;;
      *) set -- "$@" "$argument" ;;
    esac
  done
  case "$*" in
    --help | -h) perf_help; exit ;;
  esac
  [ "$#" -gt 0 ] || fail "which file? ./solder perf inputs/perf/cg_fem2d_host.yaml [--with eigen] [--compare OLD.json]"
  needs=
  for peer in $(echo "$with" | tr ',' ' '); do
    packages_of_peer=$(packages_of "$peer") || exit
    needs="$needs $packages_of_peer"
  done
  choose
  needs_gpu "$@"
  # shellcheck disable=SC2086
  [ -z "$needs" ] || install_packages $needs
  perf_tests=on # for prepare
  prepare solder_perf CMakeLists.txt cmake src perf_tests
  [ -n "$with" ] || say "more to compare with: ./solder perf --with eigen, --with petsc"
  here "$work/build/bin/solder_perf" "$@"
}
