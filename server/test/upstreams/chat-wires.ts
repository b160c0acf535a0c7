import { completionsWire } from './fakes/completions-chat.ts';
import { messagesWire } from './fakes/messages-chat.ts';
import { responsesWire } from './fakes/responses-chat.ts';

/** The APIs for chat that upstreams speak, each with its stand-in. */
export const chatWires = {
  completions: completionsWire,
  messages: messagesWire,
  responses: responsesWire,
};
