# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh disable=SC2154
# Sourced by ./solder and ./test, with source_dir and me (their name) set. `choose` finds or prepares
# the dependencies. `prepare TARGET PATH...` does the same, and also builds TARGET unless nothing under the
# PATHs has changed since the last build. The driver is built for double alone and for what scalars names: float,
# complex_double, complex_float, single (what is stored in single precision beside double), ranks, or all; and for what was
# built before.
#
#   found    Kokkos and the rest found by CMake on this machine    built in build/found
#   fetch    what is missing fetched from upstream, and configured built in build/fetch
#   debian   a private Debian sid root in the user's cache         built in ROOT/solder/ID
#
# The first that works is used and remembered in build/choice. SOLDER_KOKKOS=found|fetch|debian
# requests one of them; VERBOSE=1 shows what is otherwise only logged; `rm -r build` forgets everything.
#
# SOLDER_DEVICES=CUDA (or HIP, SERIAL, OPENMP, or several with commas) requests Kokkos's devices, and
# SOLDER_ARCH=HOPPER90 the GPU where it is not the one of this machine: docs/execution-spaces.md. Such
# a build has folders of its own, so that both can be used in turn. So has a build for ranks (`ranks` set to how many),
# which needs an MPI.

cache=${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/solder
machine=$(uname -m)
root=$cache/debian-sid-$machine-1 # the last number counts the changes of the recipe in make_root
packages=g++,cmake,ninja-build,libkokkos-dev,libyaml-cpp-dev,libgtest-dev,nlohmann-json3-dev,zlib1g-dev # of it
amount="about a minute, 600 MB"
if [ -n "${ranks:-}" ]; then
  root=$cache/debian-sid-mpi-$machine-1
  packages=$packages,libopenmpi-dev,openmpi-bin
  amount="about a minute, 700 MB"
fi
devices=$(printf '%s' "${SOLDER_DEVICES:-}" | tr 'a-z, ' 'A-Z;;')
suffix=$(printf '%s' "${devices:+-$devices}${SOLDER_ARCH:+-$SOLDER_ARCH}${ranks:+-mpi}" | tr 'A-Z;' 'a-z-')
choice_file=$source_dir/build/choice$suffix
chosen= # whether choose has run

say() { printf '%s: %s\n' "$me" "$*" >&2; }
fail() { say "$*"; exit 2; }
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }

# logged COMMAND...: its output goes to $log, and to the terminal only with VERBOSE=1.
logged() {
  if [ -n "${VERBOSE:-}" ]; then "$@" >&2; else "$@" >>"$log" 2>&1; fi
}

# lock FILE: held until unlock, or until all processes started under it have ended in any way.
lock() {
  have flock || return 0
  exec 9>"$1"
  flock -n 9 || { say "waiting for another run that builds or prepares"; flock 9; }
}
unlock() { exec 9>&-; }

# ---- choosing

environment_key() {
  printf '%s|' "$root" "${SOLDER_KOKKOS:-}" "${CMAKE_PREFIX_PATH:-}" "${Kokkos_ROOT:-}" \
    "${Kokkos_DIR:-}" "${CXX:-}" "${CXXFLAGS:-}" "$devices" "${SOLDER_ARCH:-}"
}

# Recalls the choice of an earlier run, if it was made with this environment and is still valid.
recall() {
  [ -r "$choice_file" ] || return 1
  {
    read -r choice && IFS= read -r description && IFS= read -r config && IFS= read -r key
  } <"$choice_file"
  [ "$key" = "$(environment_key)" ] && [ -e "$config" ] && place
}

remember() { # CHOICE DESCRIPTION FILE; the choice is valid as long as FILE exists
  choice=$1 description=$2 config=$3
  printf '%s\n' "$choice" "$description" "$config" "$(environment_key)" >"$choice_file.new"
  mv "$choice_file.new" "$choice_file"
  place
  renew
}

# Forgets what was configured with another environment.
renew() {
  [ "$(cat "$work/key" 2>/dev/null)" != "$(environment_key)" ] || return 0
  rm -rf "$work/build/CMakeCache.txt" "$work/build/CMakeFiles" "$work"/stamp.* "$work/configured.perf"
  mkdir -p "$work" && environment_key >"$work/key"
}

# Sets work, the folder of this choice; inside, the same folder as the build sees it; and sources, likewise.
place() {
  case $choice in
    debian)
      id=$(printf '%s' "$source_dir" | cksum)
      inside=/solder/${id%% *}
      work=$root$inside
      sources=$inside/source
      ;;
    *) work=$source_dir/build/$choice$suffix inside=$work sources=$source_dir ;;
  esac
}

# The compiler of the requested devices: finds it, also where its toolkit is installed as a rule.
check_devices() {
  [ -n "$devices" ] || return 0
  for device in $(printf '%s' "$devices" | tr ';' ' '); do
    case $device in
      CUDA) find_compiler nvcc "NVIDIA's CUDA toolkit" "${CUDA_HOME:-/usr/local/cuda}" ;;
      HIP) find_compiler hipcc "AMD's ROCm" "${ROCM_PATH:-/opt/rocm}" && export CXX="${CXX:-hipcc}" ;;
      SERIAL | OPENMP) ;;
      *) fail "SOLDER_DEVICES has $device; it is a list of CUDA, HIP, OPENMP and SERIAL" ;;
    esac
  done
  case $devices in # the host's part of a program for GPUs uses all cores
    *OPENMP* | *SERIAL*) ;;
    *) devices="$devices;OPENMP" ;;
  esac
}

find_compiler() { # PROGRAM TOOLKIT FOLDER
  have "$1" && return
  [ -x "$3/bin/$1" ] || fail "SOLDER_DEVICES=$SOLDER_DEVICES needs $1, which is neither in PATH nor in $3/bin:" \
    "install $2, or put the folder of $1 into PATH"
  PATH=$PATH:$3/bin
}

# probe UPSTREAM: whether CMake finds everything here (OFF), or can reach upstream for the rest (ON).
probe() {
  have cmake || { why="no CMake here"; return 1; }
  scratch=$source_dir/build/probe log=$source_dir/build/probe.log
  rm -rf "$scratch" "$log"
  cmake -S "$source_dir/cmake/probe" -B "$scratch" -DSolder_PROBE_UPSTREAM="$1" \
    "-DSolder_KOKKOS_DEVICES=$devices" ${ranks:+-DSolder_ENABLE_MPI=ON} >"$log" 2>&1 &&
    return
  missing=$(sed -n -e 's/.*provided by "\([^"]*\)" .*/\1/p' \
    -e 's/.*Could NOT find \([^ ]*\) .*/\1/p' \
    -e 's/.*No CMAKE_CXX_COMPILER could be found.*/a C++ compiler/p' \
    -e 's/.*has the devices \([^,]*\), not .*/Kokkos with other devices than \1/p' "$log" | head -n 1)
  if grep -q 'Upstream is not reached' "$log"; then
    why="${why:+$why, }upstream not reached"
  else
    why="${missing:-Kokkos} not found here"
  fi
  return 1
}

# Whether missing packages can be fetched and configured by this CMake, in the folder of the build.
fetch() {
  choice=fetch
  place
  renew
  log=$work/fetch.log
  rm -f "$log"
  say "fetching what is missing"
  configure_build "$(scalars_for "${scalars:-all}")" && return
  why="${why:+$why, }what upstream has cannot be fetched or configured ($log)"
  return 1
}

# What to do where Kokkos, or one of the others, is not here.
advice() {
  case ${lacking:-Kokkos} in
    Kokkos*) echo "Name the folder of a Kokkos that has these devices in Kokkos_ROOT (docs/execution-spaces.md)" ;;
    *) echo "Install $lacking, and what else docs/building.md lists (Debian: apt-get install libyaml-cpp-dev" \
      "nlohmann-json3-dev libgtest-dev zlib1g-dev), or name its folder in CMAKE_PREFIX_PATH" ;;
  esac
}

decide() {
  why='' wanted=${SOLDER_KOKKOS:-any}
  case $wanted in
    any | found | fetch | debian) ;;
    *) fail "SOLDER_KOKKOS is $wanted, not found, fetch or debian" ;;
  esac
  say "looking for Kokkos"
  case $wanted in
    any | found)
      if probe OFF; then
        line=$(sed -n 's/^-- Solder: \(Kokkos .*\)/\1/p' "$log")
        remember found "using $line" "${line#* in }/KokkosConfig.cmake"
        return
      fi
      ;;
  esac
  missing_here=$why lacking=${missing:-}
  case $wanted in
    any | fetch)
      if probe ON && fetch; then
        remember fetch "using Kokkos fetched from upstream${missing_here:+ ($missing_here)}" \
          "$source_dir/CMakeLists.txt"
        return
      fi
      ;;
  esac
  case $wanted in
    any | debian)
      case $devices in
        '' | OPENMP) ;;
        *) fail "cannot build for $devices here: $why ($source_dir/build/probe.log). Debian's Kokkos has OPENMP" \
          "alone. $(advice)" ;;
      esac
      if [ -e /etc/debian_version ] && have apt-get; then
        make_root
        kokkos=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' \
          "$root"/usr/lib/*/cmake/Kokkos/KokkosConfigVersion.cmake)
        remember debian "using Kokkos $kokkos in $root${missing_here:+ ($missing_here)}" \
          "$root/solder/complete"
        return
      fi
      ;;
  esac
  fail "cannot build here: $why. Install CMake 3.22 or newer, a C++20 compiler, Kokkos 4.5 or" \
    "newer, yaml-cpp, nlohmann-json, GoogleTest and zlib; name the folder of Kokkos in Kokkos_ROOT"
}

# ---- the private Debian root

# The root is made in a sibling folder, which gets the root's name only when it is complete.
make_root() {
  [ ! -e "$root/solder/complete" ] || return 0
  is_root || unshare --user --map-root-user true 2>/dev/null ||
    fail "a private Debian root needs root privileges or user namespaces; neither is available here"
  mkdir -p "$cache"
  log=$cache/prepare.log
  (
    lock "$cache/lock"
    [ ! -e "$root/solder/complete" ] || exit 0
    rm -rf --one-file-system "$root" "$root".new.* "$log" # left by runs that were killed
    new=$(mktemp -d "$root.new.XXXXXX") && chmod 755 "$new" || exit
    trap 'rm -rf --one-file-system "$new" "$new.tar"' EXIT
    trap 'exit 130' INT TERM HUP
    say "preparing a private Debian sid root in $root: once, $amount ($log)"
    fill_root "$new" || {
      tail -n 20 "$log" >&2
      fail "could not prepare the Debian root; full output: $log"
    }
    trap - EXIT
  ) || exit
}

fill_root() ( # FOLDER
  new=$1
  if ! have mmdebstrap; then
    if ! is_root; then
      echo "mmdebstrap is missing: apt-get install mmdebstrap uidmap" >>"$log"
      exit 1
    fi
    logged apt-get update
    logged apt-get install --yes --no-install-recommends mmdebstrap debian-archive-keyring || exit
  fi
  set -- --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' "--include=$packages" sid
  if is_root; then
    # in its own mount namespace if possible: what it mounts must not outlive it
    if unshare --mount true 2>/dev/null; then own=--mount; else own=--fork; fi
    logged unshare "$own" mmdebstrap --mode=root "$@" "$new" || exit
  else # through a tar file, so that the user owns all files
    logged mmdebstrap --mode=unshare "$@" "$new.tar" || exit
    logged tar -xf "$new.tar" -C "$new" --exclude='./dev/*' && rm "$new.tar" || exit
  fi
  # Kokkos's CMake files name static archives that it does not ship: provide empty ones.
  sed -n 's/.*{_IMPORT_PREFIX}\(\/[^";]*\.a\)".*/\1/p' "$new"/usr/lib/*/cmake/Kokkos/*.cmake |
    while read -r archive; do
      [ -e "$new/usr$archive" ] || printf '!<arch>\n' >"$new/usr$archive"
    done
  mkdir "$new/solder" && touch "$new/solder/complete" && sync -f "$new/solder" &&
    mv -T "$new" "$root"
)

# in_root COMMAND...: runs it with an environment that has only those host variables that the programs read.
in_root() (
  for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p'); do
    case $name in
      OMP_* | KOKKOS_* | GTEST_* | CTEST_* | SOLDER_* | TERM | COLUMNS) ;;
      *) unset "$name" ;;
    esac
  done
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
  if is_root; then
    exec chroot "$root" "$@"
  else
    # shellcheck disable=SC2016
    exec unshare --user --map-root-user --mount \
      sh -c 'mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$root" "$@"
  fi
)

# Mirrors the sources into the root: keeps time stamps, and removes files that no longer exist here.
synchronise() {
  rm -rf "$work/source.new" && mkdir -p "$work/source.new" || return
  for name in solder test CMakeLists.txt LICENSE README.md CONTRIBUTING.md CHANGELOG.md cmake src unit_tests examples \
    perf_tests inputs docs python; do
    [ ! -e "$source_dir/$name" ] || cp -a "$source_dir/$name" "$work/source.new/" || return
  done
  git -C "$source_dir" describe --always --dirty --abbrev=12 '--exclude=*' >"$work/source.new/.commit" 2>/dev/null ||
    rm -f "$work/source.new/.commit"
  rm -rf "$work/source" && mv "$work/source.new" "$work/source"
}

# Removes builds of checkouts that no longer exist.
forget_gone_checkouts() {
  for origin in "$root"/solder/*/origin; do
    [ ! -e "$origin" ] || [ -d "$(cat "$origin")" ] || rm -rf "${origin%/origin}"
  done
}

# ---- building

cores_here=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)

# One job per core, as long as there are 2 GB of memory for each.
jobs() {
  cores=$cores_here
  memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null)
  fit=$((${memory:-$((cores * 2097152))} / 2097152))
  [ "$fit" -ge 1 ] || fit=1
  if [ "$fit" -lt "$cores" ]; then echo "$fit"; else echo "$cores"; fi
}

# where COMMAND...: runs it where the build is.
where() { if [ "$choice" = debian ]; then in_root "$@"; else "$@"; fi; }

# here COMMAND...: runs a program that was built, on this machine and in place of this process. A program of the
# root uses the root's own loader, so that every path means what it means to the user.
here() {
  [ "$choice" = debian ] || exec "$@"
  loader=$(echo "$root"/usr/lib/*-linux-*/ld-linux*.so.*)
  exec "$loader" --library-path "${loader%/*}" --argv0 "$1" "$@"
}

# over_ranks PROGRAM ARGUMENT...: runs it as $ranks processes of MPI, in place of this process, which share the cores.
over_ranks() {
  share=$((cores_here / ranks))
  export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$((share > 0 ? share : 1))}"
  [ -t 1 ] || export NO_COLOR=1 # mpirun may give the ranks a terminal of its own
  ! is_root || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  if [ "$choice" = debian ]; then # mpirun of Open MPI 5 and later is PRRTE's prterun; it looks for its parts in the root
    export OPAL_PREFIX="$root/usr" PMIX_PREFIX="$root/usr" PRTE_PREFIX="$root/usr"
    export PMIX_MCA_pcompress_base_silence_warning=1
    loader=$(echo "$root"/usr/lib/*-linux-*/ld-linux*.so.*)
    exec "$loader" --library-path "${loader%/*}" --argv0 prterun "$root/usr/bin/prte" --personality ompi \
      --oversubscribe --bind-to none -np "$ranks" "$loader" --library-path "${loader%/*}" --argv0 "$1" "$@"
  fi
  mpirun=$(sed -n 's/^MPIEXEC_EXECUTABLE:[^=]*=//p' "$work/build/CMakeCache.txt")
  mpirun=${mpirun:-mpirun}
  if "$mpirun" --version 2>/dev/null | grep -q 'Open MPI'; then # others allow this without being told
    exec "$mpirun" --oversubscribe --bind-to none -np "$ranks" "$@"
  fi
  exec "$mpirun" -np "$ranks" "$@"
}

# What to build: double, and all else that was ever requested: scalars, precision: single, ranks.
scalars_for() { # TARGET
  wanted=" $1 ${scalars:-} $(cat "$work/scalars" 2>/dev/null) "
  list=double
  for one in float complex_double complex_float single ranks; do
    case $wanted in *" $one "*) list="$list $one" ;; esac
  done
  case $wanted in *' all '*) list=all ;; esac
  echo "$list"
}

up_to_date() { # TARGET PATH...
  stamp=$work/stamp.$1
  [ "$(scalars_for "$1")" = "$(cat "$work/scalars" 2>/dev/null)" ] || return 1
  shift
  [ -e "$stamp" ] || return 1
  [ "$choice" != found ] || set -- "$@" "$config"
  changed=$(cd "$source_dir" && find "$@" -cnewer "$stamp" -print -quit 2>&1)
  [ -z "$changed" ]
}

# configure FOLDER OPTION...: configures a build in a folder of this choice with these CMake options.
configure() {
  folder=$inside/$1
  shift
  if [ "$choice" = debian ] || { have ninja && [ -z "${CMAKE_GENERATOR:-}" ]; }; then
    set -- "$@" -G Ninja
  fi
  # A Kokkos that is here without the devices is not taken.
  [ -z "$devices" ] || set -- "$@" "-DSolder_KOKKOS_DEVICES=$devices"
  [ -z "${SOLDER_ARCH:-}" ] || set -- "$@" "-DKokkos_ARCH_$SOLDER_ARCH=ON"
  [ -z "${ranks:-}" ] || set -- "$@" -DSolder_ENABLE_MPI=ON
  case $choice$devices in
    fetch) ;;
    fetch*) set -- "$@" -DSolder_FETCH_DEPENDENCIES=ON ;;
    *) set -- "$@" -DSolder_FETCH_DEPENDENCIES=OFF ;;
  esac
  logged where cmake -S "$sources" -B "$folder" "$@"
}

configure_build() { # SCALARS
  case $1 in
    all) set -- -USolder_SCALARS -USolder_SINGLE -USolder_RANKS -USolder_ENABLE_TESTS -USolder_ENABLE_EXAMPLES ;;
    *)
      with_single=OFF with_ranks=OFF list=
      for one in $1; do
        case $one in
          single) with_single=ON ;;
          ranks) with_ranks=ON ;;
          *) list="${list:+$list;}$one" ;;
        esac
      done
      set -- "-DSolder_SCALARS=$list" "-DSolder_SINGLE=$with_single" "-DSolder_RANKS=$with_ranks" \
        -DSolder_ENABLE_TESTS=OFF -DSolder_ENABLE_EXAMPLES=OFF
      ;;
  esac
  configure build "$@" ${perf_tests:+-DSolder_ENABLE_PERF_TESTS=ON} || return
  # The performance tests, once they are built, are configured with the rest from then on.
  [ -z "${perf_tests:-}" ] || touch "$work/configured.perf"
}

# Shows what failed first, which is seldom the last output, with the user's names of the files.
show_failure() {
  if grep -q 'undefined reference' "$log"; then
    grep 'undefined reference' "$log" | head -n 12
  elif grep -q 'error:' "$log"; then
    grep -m 3 -A 12 'error:' "$log"
  else
    tail -n 60 "$log"
  fi |
    sed "s|$sources/||g" | cut -c 1-300 >&2
}

is_configured() {
  [ -e "$work/build/CMakeCache.txt" ] && [ -e "$work/scalars" ] &&
    { [ -z "${perf_tests:-}" ] || [ -e "$work/configured.perf" ]; }
}

build() { # TARGET
  log=$work/build.log
  mkdir -p "$work"
  rm -f "$log"
  built=$(scalars_for "$1")
  say "$description"
  say "building for $built... ($log)"
  touch "$work/stamp.new"
  if [ "$choice" = debian ]; then
    forget_gone_checkouts
    printf '%s\n' "$source_dir" >"$work/origin"
    synchronise || fail "could not copy the sources to $work"
  fi
  if [ "$built" != "$(cat "$work/scalars" 2>/dev/null)" ]; then rm -f "$work/scalars"; fi
  if ! { is_configured || configure_build "$built"; } ||
    ! logged where cmake --build "$inside/build" --target "$1" --parallel "$(jobs)"; then
    [ -n "${VERBOSE:-}" ] || show_failure
    say "the build failed; full output: $log"
    exit 3
  fi
  echo "$built" >"$work/scalars"
  [ "$1" != all ] || cp -p "$work/stamp.new" "$work/stamp.solder_driver"
  mv "$work/stamp.new" "$work/stamp.$1"
}

choose() {
  [ -z "$chosen" ] || return 0
  chosen=yes
  check_devices
  mkdir -p "$source_dir/build" || exit 2
  if ! recall; then
    lock "$source_dir/build/lock"
    recall || decide
    unlock
  fi
}

prepare() { # TARGET PATH...
  choose
  if ! up_to_date "$@"; then
    lock "$source_dir/build/lock"
    up_to_date "$@" || build "$1"
    unlock
  fi
}
