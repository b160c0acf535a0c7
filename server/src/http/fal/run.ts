import { keyedEndpoint } from '../endpoint.ts';
import { ModelInput } from '../api/model-schema.ts';
import { ModelOutput } from '../requests/schema.ts';
import { ErrorBody } from '../schemas/error-schema.ts';
import { either, integer, list, object, optional, text } from '../schemas/schema.ts';
import * as queue from './queue.ts';

const Fault = object({
  loc: list(either([text(), integer()])),
  msg: text('The error at `loc`.'),
  type: text('The code of the error.'),
});

const shapes = {
  params: ['*'],
  rawQuery: object({
    fal_webhook: optional(
      text('A public http or https address that gets one POST when the request is final.', {
        format: 'uri',
        example: 'https://example.com/hooks/farebox',
      }),
    ),
  }),
  rawBody: ModelInput,
  written: ModelOutput,
  failure: object({
    ...ErrorBody.properties,
    message: text("The message of the error, for fal's client."),
    detail: either([text('The same message.'), list(Fault)]),
  }),
} as const;

/** POST /fal/run/{model_id} */
export const run = keyedEndpoint(shapes, ({ req, reply }, deps) => queue.run(req, reply, deps));
