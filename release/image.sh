#!/usr/bin/env bash
# Build the image where there is neither Docker nor a registry: with buildah, as root, on a base made of
# Debian's packages. Writes affinity-extender-VERSION.oci.tar into the folder that is named, or dist.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in buildah mmdebstrap; do
  command -v "$tool" >/dev/null || {
    echo "image.sh: $tool is not installed (Debian: apt-get install buildah mmdebstrap)" >&2
    exit 3
  }
done

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
dist=${1:-dist}
archive=$dist/affinity-extender-$version.oci.tar
cache=${XDG_CACHE_HOME:-$HOME/.cache}/affinity-extender
# A new one each month, for the fixes in Debian's packages. All files have the time at which it begins, so that
# the same sources and packages make the same bytes.
SOURCE_DATE_EPOCH=$(date -u -d "$(date -u +%Y-%m-01)" +%s)
export SOURCE_DATE_EPOCH
base=$cache/image-base-$SOURCE_DATE_EPOCH.tar
mkdir -p "$cache" "$dist"
# Images and working containers are gone with this folder, unless the build is killed. Builds of the tests take
# each building-* in the cache for one that was killed.
find "$cache" -maxdepth 1 -name 'image-building-*' -mmin +600 -exec rm -rf {} +
store=$(mktemp -d "$cache/image-building-XXXXXX")
trap 'rm -rf "$store"' EXIT

in_store() {
  buildah --root "$store/images" --runroot "$store/run" --storage-driver vfs "$@"
}

if [ ! -e "$base" ]; then
  rm -f "$cache"/image-base-*.tar
  mmdebstrap --quiet --aptopt='Acquire::Retries "5"' --variant=essential \
    --include=ca-certificates,python-is-python3,python3-venv \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$store/base.tar" || exit 3
  mv "$store/base.tar" "$base"
fi
container=$(in_store from scratch)
in_store add --quiet "$container" "$base" / >/dev/null
in_store commit --quiet --rm --timestamp "$SOURCE_DATE_EPOCH" "$container" localhost/python-of-debian >/dev/null

# Whom this machine trusts, pip trusts as well: behind a proxy that is more than Debian's own list.
in_store build --quiet --timestamp "$SOURCE_DATE_EPOCH" --isolation chroot \
  --volume /etc/ssl/certs:/etc/ssl/certs:ro --build-arg SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
  --build-arg BASE=localhost/python-of-debian --tag localhost/affinity-extender . >/dev/null
in_store push --quiet localhost/affinity-extender "oci:$store/layout:$version"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
  --create --file="$archive" --directory="$store/layout" blobs index.json oci-layout
echo "$archive"
