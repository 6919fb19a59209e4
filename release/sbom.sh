#!/usr/bin/env bash
# List what the program consists of, from its pins, as CycloneDX: sbom.sh CYCLONEDX-PY FILE. The packages of
# the image's base are not in it; its distribution has lists of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "$1" requirements --pyproject pyproject.toml --mc-type application --output-reproducible \
  --output-format JSON --output-file "$2" requirements.txt
