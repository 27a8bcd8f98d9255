# The gateway as an image: locked dependencies and extras (s3, redis, otel, sentry) with their hashes, an ordinary user, data in /data.
# docs/operations.md says how it is run; nothing secret belongs in here.
FROM python:3.13-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
RUN python -m venv /opt/crm
# First what seldom changes, so that a change of the source installs nothing anew.
COPY requirements-image.lock ./
RUN /opt/crm/bin/pip install --require-hashes --no-deps -r requirements-image.lock
COPY pyproject.toml README.md LICENSE ./
COPY contract contract
COPY storage storage
COPY identity identity
COPY providers providers
COPY reports reports
COPY jobs jobs
COPY resolvers resolvers
COPY transport transport
COPY schema schema
COPY rest_compat rest_compat
COPY gateway gateway
RUN /opt/crm/bin/pip install --no-deps --no-build-isolation .

FROM python:3.13-slim

RUN groupadd --gid 10001 crm \
 && useradd --uid 10001 --gid crm --home-dir /data --no-create-home --shell /usr/sbin/nologin crm \
 && install -d -o crm -g crm -m 0700 /data
COPY --from=build /opt/crm /opt/crm
ENV PATH=/opt/crm/bin:$PATH PYTHONUNBUFFERED=1 \
    CRM_DATA_DIR=/data HOST=0.0.0.0 PORT=8000 LOG_FORMAT=json
USER crm
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + (os.environ.get('CRM_METRICS_PORT') or os.environ['PORT']) + '/ready', timeout=3.5)"]
ENTRYPOINT ["crm-gateway"]
CMD ["serve"]
