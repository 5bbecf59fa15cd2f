# Image of the service: `docker build -t perpscope .`. The role and its options are arguments or PERPSCOPE_* variables.

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY tools tools
RUN npm ci
COPY . .
RUN npm run build && find dist -name '*.map' -delete

# Only what the bundles leave out, from the same lock file.
FROM node:24-bookworm-slim AS packages
WORKDIR /packages
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=peer --workspaces=false

FROM node:24-bookworm-slim
WORKDIR /app
COPY --from=packages /packages/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
ENV NODE_ENV=production \
    PERPSCOPE_DATA_DIR=/data \
    PERPSCOPE_HOST=0.0.0.0
EXPOSE 8402 9402
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9402/readyz/accepts_sales').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
