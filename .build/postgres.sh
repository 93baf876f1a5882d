#!/bin/sh
# Prints the folder of PostgreSQL's server programs (initdb, postgres), bringing
# them first where the machine has none:
#
#   1. those of the system, the newest;
#   2. those in .postgres/, brought earlier;
#   3. npm's package @embedded-postgres/<platform>, unpacked into .postgres/;
#   4. the system's package manager, where it may be used without a question;
#   5. otherwise one line on what to install, and exit status 1.
#
# ANNALS_POSTGRES_IGNORE_SYSTEM=1 passes over 1 and 4. Nothing but the folder
# goes to standard output.
set -eu
umask 022

oldest=14
version=16.14.0-beta.17
top=$(cd "$(dirname "$0")/.." && pwd)
home=$top/.postgres

say() { echo "postgres: $*" >&2; }

# The package's contents, so that no registry can answer with others.
integrity() {
	case $1 in
	linux-x64) echo sha512-8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg== ;;
	linux-arm64) echo sha512-LNT9TXoOGR/RSop1PewcMtpuf1Dtg6sKU7sFA1ODqInRA8NoP15HyLekUHW5aWnruu4yfs1pcy6DaV39T556mQ== ;;
	darwin-x64) echo sha512-zikibpPYGWokfT/OFWNHCwerA3ZGat0ZyCIXOIbIucLBMDHztQ2WZQ9R5zil6oOxzElrMz2Q4aEOssGNrMDdyg== ;;
	darwin-arm64) echo sha512-CB1DFZ08zfmNapx231rAJW74UZfs1jQmeGLwbQSaAIRVs2uqEdMhVNLwVlztFG3ZPSeuCsgTn/0yeYDmKF67og== ;;
	esac
}

platform() {
	case "$(uname -s)-$(uname -m)" in
	Linux-x86_64 | Linux-amd64) echo linux-x64 ;;
	Linux-aarch64 | Linux-arm64) echo linux-arm64 ;;
	Darwin-x86_64) echo darwin-x64 ;;
	Darwin-arm64) echo darwin-arm64 ;;
	*) return 1 ;;
	esac
}

# major DIR: the version of the programs in DIR, or a failure if there are none that run.
major() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	"$1/postgres" --version 2>/dev/null | sed -n 's/^[^)]*) \([0-9]*\).*/\1/p' | grep .
}

# The same places as localpg's FindPrograms.
system_folders() {
	pg_config --bindir 2>/dev/null || :
	if found=$(command -v postgres); then dirname "$found"; fi
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/lib/postgresql[0-9]*/bin /usr/libexec/postgresql[0-9]* \
		/usr/local/pgsql/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
		/home/linuxbrew/.linuxbrew/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin; do
		echo "$dir"
	done
}

from_system() {
	[ -z "${ANNALS_POSTGRES_IGNORE_SYSTEM:-}" ] || return 1
	system_folders | {
		best=
		newest=$((oldest - 1))
		while read -r dir; do
			if is=$(major "$dir") && [ "$is" -gt "$newest" ]; then
				best=$dir newest=$is
			fi
		done
		[ -n "$best" ] && echo "$best"
	}
}

from_earlier() {
	major "$home/bin" >/dev/null && echo "$home/bin"
}

# from_npm leaves .postgres/ either complete or as it was.
from_npm() {
	command -v npm >/dev/null && where=$(platform) || return 1
	partial=$(mktemp -d "$top/.postgres-partial.XXXXXX") || return 1
	trap 'rm -rf "$partial"' EXIT
	trap 'exit 1' HUP INT TERM
	if fetch "$where" && unpack && settle; then
		rm -rf "$partial"
		from_earlier
	else
		rm -rf "$partial"
		return 1
	fi
}

fetch() {
	package=@embedded-postgres/$1@$version
	say "bringing $package with npm"
	answer=$(cd "$partial" && npm pack --json --loglevel=error "$package") || return 1
	got=$(echo "$answer" | sed -n 's/.*"integrity": *"\([^"]*\)".*/\1/p')
	[ "$got" = "$(integrity "$1")" ] && return
	say "$package is not what it was: its contents are $got"
	return 1
}

# npm packages hold no symbolic links; pg-symlinks.json says which to make.
unpack() {
	tar -xzof "$partial"/*.tgz -C "$partial" && cd "$partial/package" || return 1
	tr '{' '\n' <native/pg-symlinks.json |
		sed -n 's/.*"source":"\(native\/[^"]*\)","target":"\(native\/[^"]*\)".*/\1 \2/p' |
		while read -r file link; do
			case "$file $link" in *..*) return 1 ;; esac
			[ "$(dirname "$file")" = "$(dirname "$link")" ] && ln -sf "$(basename "$file")" "$link" || return 1
		done || return 1
	cd "$top"
	major "$partial/package/native/bin" >/dev/null || { say "npm's programs do not run on this system"; return 1; }
}

# Another make may have been faster; its programs are as good.
settle() {
	from_earlier >/dev/null && return
	rm -rf "$home" && mv "$partial/package/native" "$home"
}

from_packages() {
	[ -z "${ANNALS_POSTGRES_IGNORE_SYSTEM:-}" ] || return 1
	if [ "$(id -u)" = 0 ]; then
		root=
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		root="sudo -n"
	else
		root=none
	fi
	if command -v brew >/dev/null && [ "$(id -u)" != 0 ]; then
		say "installing postgresql@16 with brew"
		brew install postgresql@16 >&2 || return 1
	elif [ "$root" = none ]; then
		return 1
	elif command -v apt-get >/dev/null; then
		with_apt >&2 || return 1
	elif command -v dnf >/dev/null; then
		say "installing postgresql-server with dnf"
		$root dnf install -y postgresql-server >&2 || return 1
	elif command -v apk >/dev/null; then
		say "installing postgresql with apk"
		$root apk add postgresql >&2 || return 1
	else
		return 1
	fi
	from_system
}

# Debian's package would make a cluster and start it; we want the programs only.
with_apt() {
	say "installing postgresql with apt-get"
	apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -q -y"
	$apt update && $apt install --no-install-recommends postgresql-common || return 1
	if ! grep -q '^create_main_cluster *= *false' /etc/postgresql-common/createcluster.conf; then
		echo 'create_main_cluster = false' | $root tee -a /etc/postgresql-common/createcluster.conf >/dev/null || return 1
	fi
	$apt install --no-install-recommends postgresql
}

from_system || from_earlier || from_npm || from_packages || {
	say "there are no PostgreSQL server programs (initdb and postgres, version $oldest or newer) here, and npm or a package manager" \
		"could not bring them: install them (apt-get install postgresql, dnf install postgresql-server, apk add postgresql," \
		"brew install postgresql@16) and try again"
	exit 1
}
