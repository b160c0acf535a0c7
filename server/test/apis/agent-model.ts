import { setTimeout } from 'node:timers/promises';
import type { Answer, Call } from '../upstreams/fakes/kit.ts';
import { streamOf } from '../upstreams/fakes/openai-chat.ts';
import type { ChatWire, SaidReply } from '../upstreams/fakes/said.ts';

type Json = Record<string, any>;

/** A scripted model for coding agents. It knows the agent by the tool that runs a command. */
export interface Cast {
  tool: string;
  /** The tool's input that runs this command. */
  run(command: string): Json;
  /** Words of the agent's request for a summary. */
  summary: RegExp;
  /** The proof of a thought that the agent gives back. */
  thinks: boolean;
}

/** A turn of the model, for the log of a scene. */
export type Turn = 'title' | 'calls' | 'summary' | 'refusal' | 'end';

export interface Scene {
  /** The prompt may have this many tokens, of four bytes each. */
  limit?: number;
  refuses?: 'by status' | 'in its stream';
  /** The pause in the middle of the last reply. */
  silentMs?: number;
  /** Calls of the first turn in place of the usual two. */
  first?: { name: string; input: Json }[];
  turns: Turn[];
}

const tokensIn = (body: Json) => Math.ceil(JSON.stringify(body).length / 4);
const summed = 'SUMMED: the large files were read.';

/** Reads two notes at once and then a third; with a limit it reads large files until it is full. */
export function modelOf(wire: ChatWire, cast: Cast, scene: Scene): (call: Call) => Answer {
  let calls = 0;
  const call = (command: string) => ({
    id: `call_${calls++}`,
    name: cast.tool,
    input: cast.run(command),
  });

  function turnOf(body: Json): [Turn, SaidReply] {
    const { texts, tools, results } = wire.asked(body);
    const isOfAgent = tools.includes(cast.tool);
    if (isOfAgent && JSON.stringify(body).includes(summed)) {
      const hasRead = JSON.stringify(body).split(summed).at(-1)!.includes('harbour');
      return hasRead ? end() : ['calls', { text: 'On.', calls: [call('cat note.txt')] }];
    }
    if (cast.summary.test(texts.slice(-2).join('\n')))
      return ['summary', { text: `<summary>${summed}</summary>` }];
    if (!isOfAgent) return ['title', { text: 'Notes' }];
    const thought = cast.thinks ? { thought: { text: 'Look.', proof: 'proof' } } : {};
    const both = (one: string, other: string): [Turn, SaidReply] => [
      'calls',
      { ...thought, text: 'I look.', calls: [call(`cat ${one}`), call(`cat ${other}`)] },
    ];
    if (scene.limit !== undefined) return both('large.txt', 'larger.txt');
    if (results.length >= 3) return end();
    if (results.length > 0) return ['calls', { ...thought, calls: [call('cat third.txt')] }];
    if (!scene.first) return both('note.txt', 'other.txt');
    return ['calls', { calls: scene.first.map((each) => ({ id: `call_${calls++}`, ...each })) }];
  }
  const end = (): [Turn, SaidReply] => ['end', { text: 'At six, says the note.' }];

  return ({ json }) => {
    const body = json<Json>();
    const prompt = tokensIn(body);
    const usage = { prompt, cached: 0, written: 0, output: 20, thinking: 0 };
    const isTooLong = prompt > (scene.limit ?? Infinity);
    const [turn, said] = isTooLong ? (['refusal', {}] as const) : turnOf(body);
    scene.turns.push(turn);
    if (isTooLong) return refusalOf(wire, scene, prompt);
    const events = wire.events({ ...said, usage });
    return streamOf(turn === 'end' ? paused(events, scene.silentMs) : events);
  };
}

async function* paused(events: string[], ms = 0): AsyncGenerator<string> {
  yield events.slice(0, -3).join('');
  await setTimeout(ms);
  yield events.slice(-3).join('');
}

function refusalOf(wire: ChatWire, { refuses, limit }: Scene, prompt: number): Answer {
  const words = `prompt is too long: ${prompt} tokens > ${limit} maximum`;
  return refuses === 'in its stream'
    ? streamOf([': busy\n\n', wire.refused(words)])
    : wire.refusal(400, words);
}
