import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../../lib/json.ts';
import { messageFields } from '../chat/optional-fields.ts';
import type { Block, Conversation, Turn } from '../chat/conversation.ts';
import type { ReadCall } from './api.ts';
import { readCompletionsCall } from './completions/read-call.ts';
import { writeCompletionsCall } from './completions/write-call.ts';
import { readMessagesCall } from './messages/read-call.ts';
import { writeMessagesCall } from './messages/write-call.ts';
import { readResponsesCall } from './responses/read-call.ts';
import { writeResponsesCall } from './responses/write-call.ts';

/** A call keeps what its API can say when it is written in this API and read again. */

const calling = { model: 'm', max_tokens: 9_000, stream: false };
const manners = { passes: new Set<string>(), cacheControl: false, tool_name_max: 64 };
const open = {
  ...manners,
  developer: true,
  custom_tools: true,
  message_fields: new Set(messageFields),
  token_limit: 'max_tokens',
  include_usage: false,
} as const;
const claude = { ...manners, thinking: 'adaptive', sampling: true } as const;

interface Api {
  write: (conversation: Conversation) => { body: Json; ignored: string[] };
  read: (body: Json) => ReadCall;
  /** The name of the form of thoughts that its models can prove. */
  format: string;
}

const apis: Record<string, Api> = {
  completions: {
    write: (conversation) => writeCompletionsCall(conversation, calling, open),
    read: readCompletionsCall,
    format: 'some-v1',
  },
  messages: {
    write: (conversation) => writeMessagesCall(conversation, calling, claude),
    read: readMessagesCall,
    format: 'anthropic-claude-v1',
  },
  responses: {
    write: (conversation) => writeResponsesCall(conversation, calling, manners),
    read: readResponsesCall,
    format: 'openai-responses-v1',
  },
};

const at = '';
const text = fc.string({ unit: 'grapheme', maxLength: 9 }).map((end) => `x${end}`);
const said = text.map((own): Block => ({ type: 'text', text: own, at }));
const image = fc.webUrl().map((value): Block => ({
  type: 'image',
  media: { type: null, from: 'url', value, name: null, at },
  at,
}));
const name = fc.stringMatching(/^[a-z]{1,9}$/);
const input = fc
  .dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 2 }))
  .map((value) => JSON.stringify(value));

const turn = (by: Turn['by'], blocks: Block[]): Turn => ({ by, name: null, blocks, at });

/** A question, an answer that may call tools, and the results of the calls. */
const round = fc.record({
  asked: fc.array(fc.oneof(said, image), { minLength: 1, maxLength: 3 }),
  proof: fc.option(fc.stringMatching(/^[A-Za-z0-9]{4}$/)),
  answer: said,
  calls: fc.array(fc.record({ name, input, result: text }), {
    maxLength: 3,
  }),
});

const conversations = (format: string) =>
  fc
    .record({
      system: fc.option(text),
      rounds: fc.array(round, { minLength: 1, maxLength: 4 }),
      tools: fc.uniqueArray(
        fc.record({ name, description: text, required: fc.array(text, { maxLength: 2 }) }),
        { selector: (each) => each.name, minLength: 1, maxLength: 3 },
      ),
      mode: fc.constantFrom('auto', 'any', 'none', 'tool'),
      parallel: fc.constantFrom(null, false),
      temperature: fc.option(fc.constantFrom(0, 0.5, 1)),
      top_p: fc.option(fc.constantFrom(0.1, 0.9)),
    })
    .map(({ system, rounds, tools, mode, parallel, temperature, top_p }): Conversation => {
      const turns = rounds.flatMap(({ asked, proof, answer, calls }, i) => {
        const id = (k: number) => `c${i}_${k}`;
        const thought = { type: 'thought', form: 'hidden', signature: null, format, at } as const;
        const thoughts: Block[] =
          proof === null
            ? []
            : [{ ...thought, text: proof, id: format.startsWith('openai') ? `rs_${i}` : null }];
        const called = calls.map((each, k): Block => ({
          type: 'call',
          id: id(k),
          name: each.name,
          input: each.input,
          custom: false,
          at,
        }));
        const results = calls.map(({ result }, k): Block => {
          const blocks = [{ type: 'text' as const, text: result, at }];
          return { type: 'result', call: id(k), blocks, failed: false, at };
        });
        const answered = turn('assistant', [...thoughts, answer, ...called]);
        const back = results.map((each) => turn('user', [each]));
        return [turn('user', asked), answered, ...back];
      });
      const first = system === null ? [] : [turn('system', [{ type: 'text', text: system, at }])];
      return {
        api: 'completions',
        turns: [...first, ...turns],
        tools: tools.map(({ required, ...own }) => ({
          ...own,
          parameters: { type: 'object', properties: {}, required },
          strict: null,
          custom: null,
        })),
        choice: { mode, tool: mode === 'tool' ? tools[0]!.name : null, only: null },
        parallel: mode === 'none' ? null : parallel,
        format: null,
        settings: {
          temperature,
          // Messages leaves it out beside a temperature.
          top_p: temperature === null ? top_p : null,
          top_k: null,
          stop: [],
          effort: null,
          thinking: null,
          summary: null,
          proofs: false,
          verbosity: null,
          logprobs: null,
          top_logprobs: null,
          user: null,
        },
        extras: {},
      };
    });

/**
 * Without the places of the blocks, and with the blocks of a side in a row in one turn.
 */
function plain({ turns, tools, choice, parallel, settings }: Conversation): Json {
  const sides: { by: string; blocks: Json[] }[] = [];
  for (const { by, blocks } of turns) {
    const own = blocks.map(unplaced);
    const last = sides.at(-1);
    if (last?.by === by) last.blocks.push(...own);
    else sides.push({ by, blocks: own });
  }
  const { temperature, top_p } = settings;
  const offered = tools.map(({ strict, ...tool }) => ({ ...tool, strict: strict ?? false }));
  return { sides, tools: offered, choice, parallel, temperature, top_p };
}

/** Messages has no ids of thoughts, and Responses a detail for each image. */
function unplaced({ at: _, ...block }: Block): Json {
  if (block.type === 'image') return { type: 'image', url: block.media.value };
  if (block.type === 'thought') return { type: 'thought', form: block.form, text: block.text };
  if (block.type !== 'result') return block as Json;
  return { ...block, blocks: block.blocks.map(unplaced) };
}

describe('a conversation is the same after it was written and read', () => {
  for (const [api, { write, read, format }] of Object.entries(apis))
    test(`in ${api}`, () => {
      fc.assert(
        fc.property(conversations(format), (conversation) => {
          const { body, ignored } = write(conversation);
          assert.deepEqual(ignored, []);
          const { conversation: back, ...call } = read(body);
          assert.deepEqual(plain(back), plain(conversation));
          assert.deepEqual([call.model, call.max_tokens], ['m', 9_000]);
          assert.deepEqual(call.ignored, []);
          const again = write(back).body;
          assert.deepEqual(write(read(again).conversation).body, again);
        }),
        { numRuns: 300, seed: 5 },
      );
    });
});
