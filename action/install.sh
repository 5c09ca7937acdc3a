#!/usr/bin/env bash
# Puts simulate into $BIN: the released program of $VERSION, or one built from the action's own source if that is "source".
set -euo pipefail
mkdir -p "$BIN"
if [ "$VERSION" = source ]; then
  go build -C "$GITHUB_ACTION_PATH" -o "$BIN/" ./cmd/simulate
  exit
fi
case "$RUNNER_OS" in
  Linux) os=linux ending=tar.gz ;;
  macOS) os=darwin ending=tar.gz ;;
  Windows) os=windows ending=zip ;;
  *) echo "::error::version: there is no release for $RUNNER_OS; give version: source to build it"; exit 2 ;;
esac
case "$RUNNER_ARCH" in
  X64) arch=amd64 ;;
  ARM64) arch=arm64 ;;
  *) echo "::error::version: there is no release for $RUNNER_ARCH; give version: source to build it"; exit 2 ;;
esac
release="https://github.com/faultline/faultline/releases/download/v${VERSION#v}"
archive="simulate_${VERSION#v}_${os}_${arch}.$ending"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for file in checksums.txt "$archive"; do
  curl --fail --silent --show-error --location --retry 3 --output "$file" "$release/$file"
done
# Git's bash on Windows has no shasum in its PATH, and older macOS no sha256sum.
sum=(shasum --algorithm 256)
if [ "$os" = windows ]; then sum=(sha256sum); fi
awk -v archive="$archive" '$2 == archive' checksums.txt | "${sum[@]}" --check
if [ "$ending" = zip ]; then
  unzip -q -o "$archive" simulate.exe -d "$BIN"
else
  tar -xzf "$archive" -C "$BIN" simulate
fi
