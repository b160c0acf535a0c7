import { keyedEndpoint } from '../endpoint.ts';
import { ModelInput } from '../api/model-schema.ts';
import { ModelOutput } from '../requests/schema.ts';
import { ErrorBody } from '../schemas/error-schema.ts';
import * as s from '../schemas/schema.ts';
import * as queue from './queue.ts';

const Fault = s.object({
  loc: s.list(s.either([s.text(), s.integer()])),
  msg: s.text('The error at `loc`.'),
  type: s.text('The code of the error.'),
});

const shapes = {
  params: ['*'],
  rawQuery: s.object({
    fal_webhook: s.optional(
      s.text('A public http or https address that gets one POST when the request is final.', {
        format: 'uri',
        example: 'https://example.com/hooks/farebox',
      }),
    ),
  }),
  rawBody: ModelInput,
  written: ModelOutput,
  failure: s.object({
    ...ErrorBody.properties,
    message: s.text("The message of the error, for fal's client."),
    detail: s.either([s.text('The same message.'), s.list(Fault)]),
  }),
} as const;

/** POST /fal/run/{model_id} */
export const run = keyedEndpoint(shapes, ({ req, reply }, deps) => queue.run(req, reply, deps));
