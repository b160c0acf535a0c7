import { readCompletionsCall } from '../../../core/apis/completions/read-call.ts';
import { completionsWriter } from '../../../core/apis/completions/write-reply.ts';
import { ErrorBody } from '../../schemas/error-schema.ts';
import { either } from '../../schemas/schema.ts';
import { keyedEndpoint } from '../../endpoint.ts';
import { ChatChunk, ChatCompletion, ChatRequest } from './chat-schema.ts';
import { callModel, type ChatDoor } from './call-model.ts';

/** OpenAI's chat completions. */
const door: ChatDoor = {
  path: '/chat/completions',
  read: readCompletionsCall,
  open: completionsWriter,
};

const shapes = {
  rawBody: ChatRequest,
  written: ChatCompletion,
  events: either([ChatChunk, ErrorBody]),
};

/** POST /chat/completions */
export const create = keyedEndpoint(shapes, ({ req, reply }, deps) =>
  callModel(req, reply, door, deps),
);
