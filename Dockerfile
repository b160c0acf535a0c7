# The image of Farebox. The API and the worker run the same image with different commands.
#   docker build -t farebox .
FROM node:24-slim AS pages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY server/package.json server/
COPY web/package.json web/
COPY client/package.json client/
RUN npm ci --workspace=web --workspace=client && npm cache clean --force
COPY bin/build.mjs bin/chunks.mjs bin/weight.mjs bin/
COPY web web
COPY client client
# The pages show the same programs as the docs.
COPY server/src/core/snippets.ts server/src/core/
# The client's package has the pages for callers.
COPY docs/*.md docs/
COPY docs/api docs/api
RUN node bin/build.mjs

FROM node:24-slim

# In this mode npm installs no development packages.
ENV NODE_ENV=production

WORKDIR /app
# Files that seldom change come first, so that a code change does not reinstall the packages.
COPY package.json package-lock.json .npmrc ./
COPY server/package.json server/
COPY web/package.json web/
COPY client/package.json client/
# Only the server's packages: the base image already has Node.
RUN npm ci --omit=dev --workspace=server && npm cache clean --force

COPY LICENSE openapi.json ./
COPY catalog catalog
COPY chains chains
COPY docs/*.md docs/
COPY docs/api docs/api
COPY server server
COPY web/src/look/tokens.css web/src/look/
COPY --from=pages /app/web/dist web/dist
# The service offers this package as a download, at /farebox-client.tgz.
COPY --from=pages /app/client/dist/farebox-client.tgz client/dist/

# Media on disk, and the embedded database of `serve --embedded`; compose keeps backups in the second.
RUN mkdir /data /backups && chown node:node /data /backups
VOLUME /data

# Listens on all addresses: a container's loopback address cannot be reached from outside.
ENV HOST=0.0.0.0 PORT=8080 FAREBOX_DATA_DIR=/data
USER node
EXPOSE 8080

# /livez: an unhealthy container is killed, which helps against no outage of storage or database.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD \
  ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Limits the heap's growth: a larger heap takes a third more memory and is hardly faster.
ENTRYPOINT ["node", "--max-semi-space-size=16", "--heap-growing-percent=100", "server/bin/farebox.mjs"]
CMD ["serve"]
