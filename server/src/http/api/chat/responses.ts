import { responses as dialect } from '../../../core/dialect/responses.ts';
import { callModel } from './chat.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { ResponseEvent, ResponseObject, ResponseRequest } from './responses-schema.ts';

const shapes = {
  body: ResponseRequest,
  written: ResponseObject,
  events: ResponseEvent,
};

/** POST /responses */
export const create = keyedEndpoint(shapes, ({ req, reply }, deps) =>
  callModel(req, reply, dialect, deps),
);
