import { ifNoneMatch, unchanged } from './models.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** The guide, the client package, openapi.json, and the calls for supervisors. */

export const guide: RouteDocs = {
  operationId: 'readGuide',
  tag: 'Companions',
  summary: 'Read the plain-text guide',
  description:
    'One page of plain text for people and language models: how to get from a key to a ' +
    'finished generation, with the current catalog. No key needed.',
  headers: [ifNoneMatch],
  replies: {
    200: {
      description: 'The guide.',
      headers: ['ETag', 'CacheControl'],
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
    304: unchanged,
  },
  errors: [],
};

export const client: RouteDocs = {
  operationId: 'readClient',
  tag: 'Companions',
  summary: 'Download the client',
  description:
    'The package @farebox/client for npm, in the version that matches this service: the library ' +
    'for JavaScript, the `fare` command and its MCP server. No key needed.',
  headers: [ifNoneMatch],
  replies: {
    200: {
      description: 'The package.',
      headers: ['ETag', 'CacheControl'],
      content: { 'application/gzip': { schema: { type: 'string', format: 'binary' } } },
    },
    304: unchanged,
  },
  errors: ['not_found'],
};

export const openapi: RouteDocs = {
  operationId: 'readOpenapi',
  tag: 'Companions',
  summary: 'Read this document',
  description: 'This document, with the address of this service. No key needed.',
  replies: {
    200: {
      description: 'OpenAPI 3.0.',
      headers: ['CacheControl'],
    },
  },
  errors: [],
};

const examples = one({ status: 'ok' });

export const livez: RouteDocs = {
  operationId: 'livez',
  tag: 'Health',
  summary: 'Is the process alive?',
  description:
    'For supervisors and load balancers; outside /v1. 503 once the process has been asked ' +
    'to stop, or another version has migrated the database.',
  replies: { 200: { description: 'Alive.', headers: ['CacheControl'], examples } },
  errors: ['capacity_unavailable'],
};

export const readyz: RouteDocs = {
  operationId: 'readyz',
  tag: 'Health',
  summary: 'Is the service ready?',
  description:
    'For load balancers; outside /v1. 503 with `details.failing`: database, catalog, disk ' +
    'space, storage, restored copy, version or draining.',
  replies: { 200: { description: 'Ready.', headers: ['CacheControl'], examples } },
  errors: ['capacity_unavailable'],
};

export const metrics: RouteDocs = {
  operationId: 'metrics',
  tag: 'Health',
  summary: 'Metrics for Prometheus',
  description:
    'Outside /v1. Answers only calls from this machine; if the operator has set a metrics ' +
    'token, only calls with `Authorization: Bearer <token>`, from any machine.',
  replies: {
    200: {
      description: "Prometheus' text format.",
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
  },
  errors: ['forbidden'],
  security: [{}, { MetricsToken: [] }],
};
