import type { FastifyRequest } from 'fastify';

/** The parameters that a path names: `key_id` of `/keys/:key_id`; a wildcard is called `*`. */
export type PathParams<Path extends string> = Path extends `${infer First}/${infer Rest}`
  ? PathParams<First> & PathParams<Rest>
  : Path extends `:${infer Name}`
    ? Record<Name, string>
    : Path extends '*'
      ? Record<Path, string>
      : unknown;

/** The parameters that a handler asks for by their names. */
export type ParamsOf<Names> = Names extends readonly string[]
  ? Record<Names[number], string>
  : unknown;

/** A call of a path with these parameters. */
export type WithParams<Params, Request = FastifyRequest> = Request & { params: Params };

export function at<Path extends string, Request extends FastifyRequest>(_: Path, req: Request) {
  // The router has matched this path, so the call has its parameters.
  return req as WithParams<PathParams<Path>, Request>;
}
