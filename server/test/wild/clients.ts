import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { dataIn } from '../apis/doors.ts';
import type { Reply } from '../kit/service.ts';
import type { DoorName, ExpectedReply, Json } from './case.ts';

/** Replies as the official clients read them. */

export interface ClientReply extends ExpectedReply {
  status: number;
  /** Micro-USD, as the reply states it. */
  cost?: string;
}

type ReplyReader = (reply: Reply, stream: boolean) => Promise<Json>;

const replay = (reply: Reply) => () =>
  Promise.resolve(
    new Response(new Uint8Array(reply.bytes), { status: reply.status, headers: reply.headers }),
  );
const settings = (reply: Reply) => ({ apiKey: 'k', maxRetries: 0, fetch: replay(reply) });
const openai = (reply: Reply) => new OpenAI({ ...settings(reply), baseURL: 'http://farebox/v1' });

const readers: Record<DoorName, ReplyReader> = {
  async completions(reply, stream) {
    const { completions } = openai(reply).chat;
    const body = { model: 'm', messages: [] };
    return stream ? completions.stream(body).finalChatCompletion() : completions.create(body);
  },
  async messages(reply, stream) {
    const { messages } = new Anthropic({ ...settings(reply), baseURL: 'http://farebox' });
    const body = { model: 'm', max_tokens: 1, messages: [] };
    return stream ? messages.stream(body).finalMessage() : messages.create(body);
  },
  async responses(reply, stream) {
    const { responses } = openai(reply);
    const body = { model: 'm', input: '' };
    return stream ? responses.stream(body).finalResponse() : responses.create(body);
  },
};

/** Reads a reply of a door. */
export async function read(door: DoorName, reply: Reply, stream: boolean): Promise<ClientReply> {
  const { status } = reply;
  const error = status === 200 ? errorIn(stream ? dataIn(reply) : []) : reply.body.error;
  if (error) return { status, error: error.code ?? error.type, says: error.message };
  const got = { status, ...meanings[door](await readers[door](reply, stream)) };
  // The official client does not know this field, and keeps only its last piece.
  if (door === 'completions' && stream)
    got.thoughts = joined(
      dataIn(reply).map(({ choices }) => choices[0]?.delta ?? {}),
      'reasoning',
    );
  return got;
}

/** The error with which a stream ended. */
function errorIn(data: Json[]): Json | undefined {
  return data.map((each) => each.error ?? each.response?.error).find(Boolean);
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
const joined = (parts: Json[], field: string): string =>
  parts.map((part) => part[field] ?? '').join('');
const finishes: Record<string, ExpectedReply['finish']> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  max_output_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};
const finishOf = (word: string) => finishes[word] ?? (word as ExpectedReply['finish']);

const meanings: Record<DoorName, (reply: Json) => Omit<ClientReply, 'status'>> = {
  completions({ choices: [{ message, finish_reason }], usage }) {
    return {
      text: message.content ?? message.refusal ?? '',
      thoughts: message.reasoning ?? '',
      calls: (message.tool_calls ?? []).map(({ id, function: own }: Json) => ({
        id,
        name: own.name,
        input: parsed(own.arguments),
      })),
      finish: finishOf(finish_reason),
      cost: usage?.cost_usd_micro,
    };
  },
  messages({ content, stop_reason, usage }) {
    return {
      text: joined(content, 'text'),
      thoughts: joined(content, 'thinking'),
      calls: content
        .filter((block: Json) => block.type === 'tool_use')
        .map(({ id, name, input }: Json) => ({ id, name, input })),
      finish: finishOf(stop_reason),
      cost: usage.cost_usd_micro,
    };
  },
  responses({ output, incomplete_details, usage }) {
    const of = (type: string): Json[] => output.filter((item: Json) => item.type === type);
    const calls = of('function_call').map((item) => ({
      id: item.call_id,
      name: item.name,
      input: parsed(item.arguments),
    }));
    const parts = of('message').flatMap(({ content }) => content);
    return {
      text: parts.map(({ text, refusal }) => text ?? refusal).join(''),
      thoughts: of('reasoning')
        .map(({ content, summary }) => joined([...(content ?? []), ...summary], 'text'))
        .join(''),
      calls,
      finish: finishOf(incomplete_details?.reason ?? (calls.length > 0 ? 'tool_calls' : 'stop')),
      cost: usage?.cost_usd_micro,
    };
  },
};
