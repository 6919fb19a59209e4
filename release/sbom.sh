#!/usr/bin/env bash
# List what each program consists of, from the pins, as CycloneDX: sbom.sh CYCLONEDX-PY FOLDER. The packages of
# the image's base are not in it; its distribution has lists of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

list() { # PROGRAM PYPROJECT, and the requirements on stdin
  "$cyclonedx" requirements --pyproject "$2" --mc-type application --output-reproducible \
    --output-format JSON --output-file "$folder/$1.cdx.json" -
}

cyclonedx=$1 folder=$2
list affinity-extender pyproject.toml <requirements.txt
# It asks for the other of its own version, and for nothing else.
{ sed -n 's/^dependencies = \["\(.*\)"\]$/\1/p' clusterload/pyproject.toml && cat requirements.txt; } |
  list clusterload clusterload/pyproject.toml
