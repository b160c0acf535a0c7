import { readResponsesCall } from '../../../core/apis/responses/read-call.ts';
import { responsesWriter } from '../../../core/apis/responses/write-reply.ts';
import { keyedEndpoint } from '../../endpoint.ts';
import { callModel, type ChatDoor } from './call-model.ts';
import { ResponseEvent, ResponseObject, ResponseRequest } from './responses-schema.ts';

/** OpenAI's Responses, without stored conversations and without tools that run here. */
const door: ChatDoor = {
  path: '/responses',
  read: readResponsesCall,
  open: responsesWriter,
  tellsInStream: ({ code }) => code === 'context_length_exceeded',
};

const shapes = {
  rawBody: ResponseRequest,
  written: ResponseObject,
  events: ResponseEvent,
};

/** POST /responses */
export const create = keyedEndpoint(shapes, ({ req, reply }, deps) =>
  callModel(req, reply, door, deps),
);
