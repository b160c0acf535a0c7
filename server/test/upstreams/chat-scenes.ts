import { plain, type Framing } from './chat-billing-kit.ts';
import {
  isShown,
  type Message,
  type Row,
  type Scene,
  type SentStream,
  type WholeBody,
} from './chat-rule.ts';
import { chunkOf, replyOf } from './fakes/openai-chat.ts';

/** Random chat calls: the call, the upstream's answer, and when the caller leaves. */

type Json = Record<string, any>;
type Random = () => number;

export interface RandomScene {
  scene: Scene;
  framing: Framing;
  /** The upstream does not wait for the caller to leave, so the delivered part varies. */
  rushed: boolean;
}

const letters = ['a', 'word ', '7', 'ö', '✓', '中', '🦆', '\n', '"', '{}', 'Ж ', '  '];
const errors: Json[] = [
  { error: { message: 'HIDDEN', type: 'server_error' } },
  { error: { message: 'HIDDEN', code: 502 } },
  { error: { message: 'HIDDEN', code: 429 } },
  { error: 'HIDDEN' },
  { object: 'error', message: 'HIDDEN', code: 500 },
  { choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { message: 'HIDDEN' } }] },
  { error: { message: 'HIDDEN' }, choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
];
/** Costs in dollars, invalid ones included. */
const costs = [0, 0.000_000_5, 0.000_14, 0.004_321, 1.5, -1, '0.5', null];

export function randomScene(random: Random): RandomScene {
  const chance = (share: number): boolean => random() < share;
  const below = (count: number): number => Math.floor(random() * count);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;

  function text(): string {
    return Array.from({ length: below(12) }, () => pick(letters)).join('');
  }

  function messages(): Message[] {
    return Array.from({ length: 1 + below(3) }, () => ({
      word: 'abecidofumanelirosetun'.repeat(10).slice(0, 1 + below(200)),
      pictures: chance(0.1) ? 1 + below(2) : 0,
    }));
  }

  function tokens(): unknown {
    if (chance(0.8)) return below(500);
    return pick([0, 1, -1, 2.5, '7', null, 1e6, 1e8, 1e9, 2 ** 53, 1e300, {}, [], true]);
  }

  function usage(): unknown {
    if (chance(0.05)) return pick([null, 'none', [], {}, 7, { total_tokens: 9 }]);
    const said: Json = { prompt_tokens: tokens(), completion_tokens: tokens() };
    if (chance(0.1)) delete said.prompt_tokens;
    if (chance(0.1)) delete said.completion_tokens;
    if (chance(0.3)) said.cost = pick(costs);
    if (chance(0.2))
      Object.assign(said, { is_byok: true, cost_details: { a: 1 }, estimated_cost: 1 });
    if (chance(0.2)) said.completion_tokens_details = { reasoning_tokens: below(9) };
    if (chance(0.1)) said.completion_tokens_details = { reasoning_tokens: tokens() };
    if (chance(0.2)) said.total_tokens = tokens();
    if (chance(0.2)) {
      const { reasoning_tokens = below(500) } = said.completion_tokens_details ?? {};
      said.total_tokens = said.prompt_tokens + said.completion_tokens + reasoning_tokens;
    }
    return said;
  }

  let pieces = 0;
  const begun = new Set<number>();
  function delta(): Json {
    const index = below(2);
    // The name of a field, which needs no mending and is said at once. No piece repeats another.
    const name = `${++pieces}:${text().replace(/[{}[\]"\\\p{Cc}]/gu, '')}`;
    const input = begun.has(index) ? name : `{"${name}`;
    const call = { index, id: `call_${index}`, function: { name: 'look', arguments: input } };
    return pick<() => Json>([
      () => ({ content: text() }),
      () => ({ content: text() }),
      () => ({ content: [{ type: 'text', text: text() }] }),
      () => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm. ' }] }] }),
      () => ({ reasoning: text() }),
      () => ({ reasoning_content: text() }),
      () => ({ reasoning: 'Hm. ', reasoning_content: 'Hm. ', content: text() }),
      () => ({ refusal: text() }),
      () => {
        begun.add(index);
        return { tool_calls: [call] };
      },
      () => ({}),
    ])();
  }

  const zero = { usage: { prompt_tokens: 0, completion_tokens: 0, cost: 0 } };

  function events(): SentStream['events'] {
    const places = pick(['own', 'finish', 'every', 'some', 'none']);
    const isEvery = () => places === 'every' || (places === 'some' && chance(0.3));
    const told = (at: boolean): Json => (at ? { usage: usage() } : {});
    const list: SentStream['events'] = [];
    if (chance(0.8))
      list.push(chunkOf({ role: 'assistant', content: '' }, chance(0.2) ? zero : {}));
    for (let left = below(10); left > 0; left--) list.push(chunkOf(delta(), told(isEvery())));
    const reason = pick(['stop', 'stop', 'length', 'tool_calls', 'error', null]);
    if (reason !== null || chance(0.5))
      list.push(chunkOf({}, told(places === 'finish' || isEvery()), reason));
    if (places === 'own')
      list.push(chunkOf({}, { choices: [], ...(chance(0.1) ? zero : { usage: usage() }) }));
    return list;
  }

  function sent(): SentStream {
    const list = events();
    const at = below(list.length + 1);
    const fault = random();
    if (fault < 0.15) return { events: list.slice(0, at), end: 'dies' };
    if (fault < 0.35) list.splice(at, 0, chance(0.2) ? '{"choices":[{"del' : pick(errors));
    return { events: list, end: pick(['done', 'done', 'quiet']) };
  }

  function whole(): WholeBody {
    if (chance(0.15)) return { status: pick([429, 500, 502, 503]), body: errors[0]! };
    if (chance(0.1)) return { status: 200, body: pick([...errors.slice(0, 5), {}]) };
    const [choice] = replyOf().choices as Json[];
    const message = { role: 'assistant', content: null, ...delta() };
    const finish_reason = pick(['stop', 'stop', 'length', 'error', null]);
    const more = { usage: chance(0.8) ? usage() : undefined, ...(chance(0.1) && errors[0]) };
    return {
      status: 200,
      body: replyOf({ choices: [{ ...choice, message, finish_reason }], ...more }),
    };
  }

  const isWhole = chance(0.15);
  const answer = isWhole ? whole() : sent();
  // A refusal ends the call by its status, before the caller can leave.
  const isRefused = 'status' in answer && answer.status !== 200;
  const scene: Scene = {
    row: pick<Row>(['stop', 'finish', 'thinks']),
    messages: messages(),
    max_tokens: 1 + below(600),
    include_usage: chance(0.5),
    streamed: !isWhole || chance(0.5),
    answer,
    leaves: !isRefused && chance(0.4) ? below(placesIn(answer)) : null,
  };
  const framing: Framing = {
    lineEnd: pick(['\n', '\r\n']),
    comments: chance(0.3),
    cut: chance(0.5) ? plain.cut : 5 + below(300),
  };
  return { scene, framing, rushed: (scene.leaves ?? 0) > 0 && chance(0.3) };
}

/** The number of places where the caller may leave: at the beginning and after each chunk. */
function placesIn(answer: Scene['answer']): number {
  return 'events' in answer ? chunksShown(answer) + 1 : 1;
}

/** The number of chunks that a caller who stays certainly sees. */
function chunksShown({ events }: SentStream): number {
  const isFault = (event: Json | string) =>
    typeof event === 'string' ||
    'error' in event ||
    event.object === 'error' ||
    event.choices?.[0]?.error !== undefined;
  const at = events.findIndex(isFault);
  const before = at === -1 ? events : events.slice(0, at);
  return before.filter((event) => isShown(event as Json)).length;
}
