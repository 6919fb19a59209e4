#!/usr/bin/env bash
# Sign files with an ECDSA key on P-256: sign.sh KEY FILE... Each signature, FILE.sig, is what `cosign
# sign-blob` writes with such a key: that of the file's SHA-256, in base64. The public key goes beside, cosign.pub.
set -euo pipefail
key=$1
shift
if ! openssl pkey -in "$key" -noout -text 2>/dev/null | grep --quiet 'NIST CURVE: P-256'; then
  echo "sign.sh: $key is no private key on P-256; openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $key makes one" >&2
  exit 2
fi
openssl pkey -in "$key" -pubout -out "$(dirname "$1")/cosign.pub"
for file in "$@"; do
  openssl dgst -sha256 -sign "$key" "$file" | openssl base64 -A >"$file.sig"
  echo "$file.sig"
done
