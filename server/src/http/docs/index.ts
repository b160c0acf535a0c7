/** Facts for OpenAPI about each call of the table of routes, beside its schemas and its prose. */

export type { RouteDocs } from './route-docs.ts';
export * from './calls.ts';
export * from './operator-calls.ts';
