# Farebox as an image: the service and a worker are the same image with another command.
#   docker build -t farebox .
FROM node:24-slim AS pages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY server/package.json server/
COPY web/package.json web/
COPY client/package.json client/
RUN npm ci && npm cache clean --force
COPY bin/build.mjs bin/
COPY web web
COPY client client
RUN node bin/build.mjs

FROM node:24-slim

# npm leaves out what only developers need when it is production.
ENV NODE_ENV=production

WORKDIR /app
# First what changes seldom, so that a change of code does not install everything again.
COPY package.json package-lock.json .npmrc ./
COPY server/package.json server/
COPY web/package.json web/
COPY client/package.json client/
# Only the server's own packages: the image brings its Node along.
RUN npm ci --omit=dev --workspace=server && npm cache clean --force

COPY LICENSE openapi.json ./
COPY catalog catalog
COPY chains chains
COPY docs/*.md docs/
COPY server server
COPY --from=pages /app/web/dist web/dist
# Callers get their client from here.
COPY --from=pages /app/client/dist/farebox-client.tgz client/dist/

# Media on disk, and the embedded database of `serve --embedded`.
RUN mkdir /data && chown node:node /data
VOLUME /data

# A container's loopback is reached by nobody else.
ENV HOST=0.0.0.0 PORT=8080 FAREBOX_DATA_DIR=/data
USER node
EXPOSE 8080

HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD \
  ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# A larger heap costs a third more memory and saves next to nothing.
ENTRYPOINT ["node", "--max-semi-space-size=16", "--heap-growing-percent=100", "server/bin/farebox.mjs"]
CMD ["serve"]
