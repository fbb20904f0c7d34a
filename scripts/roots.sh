# Sourced by scripts that work in roots of other distributions, which debootstrap makes in DET_ROOTS and which
# stay there for the next time. Needs to be root, debootstrap, and the keys of the distributions:
# DEBIAN_KEYRING and UBUNTU_KEYRING, where they are not installed.
roots=$(realpath -ms "${DET_ROOTS:-build-platforms}")
declare -A releases=([debian-12]=bookworm [debian-13]=trixie [ubuntu-22.04]=jammy [ubuntu-24.04]=noble)

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# Sees to the folder of the roots, and that what is mounted for one is gone at the end: use_roots ARGUMENT...,
# those of the script, which begins anew.
use_roots() {
  [ "$(id -u)" = 0 ] || fail "only root can make a root of a distribution"
  command -v debootstrap >/dev/null || fail "debootstrap is needed"
  mkdir -p -m 755 "$roots"
  [ -n "$(find "$roots" -maxdepth 0 -type d -user 0 ! -perm /022)" ] ||
    fail "$roots has to be a folder of root that nobody else can write to; DET_ROOTS names another"
  if [ -z "${DET_ROOTS_UNSHARED:-}" ]; then DET_ROOTS_UNSHARED=1 exec unshare --mount "$0" "$@"; fi
}

# Runs a command in a root: inside NAME COMMAND...
inside() {
  local root=$roots/$1
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    chroot "$root" "$@" </dev/null
}

# What commands in a root need besides its files: the kernel's folders, and how names of hosts are resolved.
mount_root() {
  local place
  for place in proc sys dev; do mount --rbind "/$place" "$roots/$1/$place"; done
  cp /etc/resolv.conf "$roots/$1/etc/resolv.conf"
}

# Makes the root of a release, unless it is there.
make_root() {
  local name=$1 root=$roots/$1 suite=${releases[$1]} mirror components script keyring update
  if [ -e "$root/root-is-whole" ]; then return; fi
  case $name in
    debian-*)
      mirror=http://deb.debian.org/debian components=main script=sid
      keyring=${DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
      ;;
    ubuntu-*)
      mirror=http://archive.ubuntu.com/ubuntu components=main,universe script=jammy
      keyring=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
      ;;
  esac
  [ -e "$keyring" ] ||
    fail "$name: there is no $keyring to check the packages with; install debian-archive-keyring or" \
      "ubuntu-keyring, or name a copy of that file from such a system in DEBIAN_KEYRING or UBUNTU_KEYRING"
  # An older debootstrap does not know the newer names; those of a distribution are made alike.
  script=/usr/share/debootstrap/scripts/$script
  [ ! -e "${script%/*}/$suite" ] || script=${script%/*}/$suite
  echo "== $name: making $root"
  rm -rf "$root"
  debootstrap --variant=minbase --components=$components --include=ca-certificates --force-check-gpg \
    --keyring="$keyring" "$suite" "$root" "$mirror" "$script" >"$root.log" 2>&1 || fail "$name: see $root.log"
  for update in "" -updates; do echo "deb $mirror $suite$update ${components/,/ }"; done >"$root/etc/apt/sources.list"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/of-a-root" # it can be made again
  touch "$root/root-is-whole"
}
