# Both stages are the same image, so that the environment built in one runs in the other. It has no default,
# because a tag is whatever it points to that day: --build-arg BASE=python:3.14-slim-bookworm@sha256:... names
# one by its digest, and docs/install.md says how to look that up. Python 3.11 and 3.14 will do.
ARG BASE

FROM ${BASE} AS build
# Of a builder that sets the time of all files: compiled modules then name the hash of their source, not its time.
ARG SOURCE_DATE_EPOCH
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /src
# Everything that is downloaded is pinned by hash, the build backend too. A second environment, which is
# thrown away, has the installer and builds the wheel without the network.
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/build \
 && python -m venv --without-pip /opt/affinity-extender \
 && /opt/build/bin/pip install --no-deps --require-hashes --only-binary :all: -r requirements-build.txt \
 && /opt/build/bin/pip --python /opt/affinity-extender install --no-deps --require-hashes \
    --only-binary :all: -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY release/homepage.py release/
COPY extender extender
COPY affinityctl affinityctl
# Folders in extender/features to leave out, with spaces between them: docs/promises.md.
ARG WITHOUT=""
RUN for name in $WITHOUT; do \
      rm -r "extender/features/$name" && rm -rf "affinityctl/commands/$name" \
      && sed -i "/^    \"$name\",$/d" extender/features/__init__.py affinityctl/commands/__init__.py || exit 1; \
    done
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/build/bin/pip --python /opt/affinity-extender install --no-deps --no-index --find-links /wheels \
    affinity-extender

FROM ${BASE}
ARG BASE
LABEL org.opencontainers.image.base.name="${BASE}" \
      org.opencontainers.image.title="affinity-extender" \
      org.opencontainers.image.description="Inter-pod affinity for kube-scheduler" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/affinity-extender /opt/affinity-extender
# It runs with a read-only root: modules were compiled above, and nothing is written.
# Without the threshold glibc raises it to what was freed, and its heap is soon full of holes: 30 MiB an hour.
ENV PATH=/opt/affinity-extender/bin:$PATH \
    MALLOC_MMAP_THRESHOLD_=131072 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A number, so that runAsNonRoot can check it.
USER 65532:65532
# Callbacks and operations. No HEALTHCHECK: the kubelet's probes ask /livez and /readyz.
EXPOSE 10280 10281
ENTRYPOINT ["affinity-extender"]
CMD ["serve"]
