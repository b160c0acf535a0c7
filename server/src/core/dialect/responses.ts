import { chunksFromCompletion } from '../chat/completion.ts';
import type { Dialect, SentEvent } from './dialect.ts';
import { openOutput } from './responses-events.ts';
import type { ItemEvent } from './responses-items.ts';
import { brokenEnd, endOf, headOf, responseOf, unended, type ReplyEnd } from './responses-reply.ts';
import { responsesChatBody, responsesIgnored, responsesPath } from './responses-request.ts';

/** OpenAI's Responses, without stored conversations and without tools that run here. */
export const responses: Dialect = {
  path: '/responses',
  list: 'input',
  chatBody: responsesChatBody,
  ignored: responsesIgnored,
  pathOf: responsesPath,
  reply(completion, body, endedSeconds) {
    const head = headOf(completion);
    const output = openOutput(head.request_id, body.tools);
    for (const chunk of chunksFromCompletion(completion, false)) output.add(chunk);
    const end = endOf(completion, endedSeconds);
    output.end(end.status === 'completed');
    return { ...responseOf(head, body), output: output.shown(), ...end };
  },
  events({ body, head: identity }) {
    const head = headOf({ ...identity });
    const output = openOutput(head.request_id, body.tools);
    let sequence_number = 0;
    const numbered = ({ type, ...rest }: ItemEvent): SentEvent => ({
      event: type,
      data: JSON.stringify({ type, sequence_number: sequence_number++, ...rest }),
    });
    // Three events repeat the call's tools, and an agent's are long, so this JSON is written once.
    const repeated = JSON.stringify(responseOf(head, body)).slice(0, -1);
    const responseEvent = (name: string, end: ReplyEnd): SentEvent => {
      const { event, data } = numbered({ type: `response.${name}` });
      const own = JSON.stringify({ output: output.shown(), ...end }).slice(1);
      return { event, data: `${data.slice(0, -1)},"response":${repeated},${own}}` };
    };
    return {
      begin: () => ['created', 'in_progress'].map((name) => responseEvent(name, unended)),
      add: (chunk) => output.add(chunk).map(numbered),
      end(completion, endedSeconds) {
        const end = endOf(completion, endedSeconds);
        const items = output.end(end.status === 'completed').map(numbered);
        return [...items, responseEvent(end.status, end)];
      },
      fail(error, completion) {
        output.end(false);
        return [responseEvent('failed', brokenEnd(error, completion))];
      },
    };
  },
};
