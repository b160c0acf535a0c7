import type { Json } from '../../lib/json.ts';
import { promptUsageOf, type Usage } from './usage.ts';

/**
 * A reply as it happens. The reader of each chat API makes these events, and the writer of each
 * takes them. A whole reply is the same events at once. Only readers trust nothing: their events
 * are always in this form.
 */
export type ReplyEvent =
  | TextPiece
  | ThoughtPiece
  | CallBegin
  | InputPiece
  | ReportedUsage
  | ReplyEnd;

/** A piece of the text that the model says, or says instead of an answer. Never empty. */
export interface TextPiece {
  type: 'text' | 'refusal';
  text: string;
  /** The log probabilities of the piece's tokens, in OpenAI's form. */
  logprobs: Json[] | null;
  /** OpenAI's name of the part of the turn that the text is, such as `commentary`. */
  phase?: string;
}

/** A piece of the reasoning. It has a text or a signature. */
export interface ThoughtPiece {
  type: 'thought';
  /** `hidden`: data that only the model can read. It comes whole. */
  form: 'text' | 'summary' | 'hidden';
  text: string;
  /** Proves to the model that it wrote the text. Nothing of the thought comes after it. */
  signature: string | null;
  id: string | null;
  /** OpenRouter's name of the form of signature and data, such as `anthropic-claude-v1`. */
  format: string | null;
  /** Pieces of one thought have the same index. Null for a text that has neither proof nor id. */
  index: number | null;
}

/** A tool call begins. Calls are numbered from 0 in the order in which they begin. */
export interface CallBegin {
  type: 'call';
  call: number;
  /** Not empty, and no other call of the reply has it. */
  id: string;
  name: string;
  /** The tool's input is a text, not JSON. */
  custom: boolean;
}

/** A piece of a call's input. Unless it is `custom` or broke off, the pieces add up to JSON. */
export interface InputPiece {
  type: 'input';
  call: number;
  text: string;
}

/** Usage that the upstream reports. The last one counts. */
export interface ReportedUsage {
  type: 'usage';
  usage: Usage;
}

/** The end. Only usage may follow. A reply without it broke off. */
export interface ReplyEnd {
  type: 'end';
  reason: FinishReason;
  /** The caller's stop text that ended the reply, if the upstream names it. */
  stop: string | null;
}

/** `tools`: the model waits for results. `filter`: it refused, or a filter cut the reply. */
export type FinishReason = 'stop' | 'length' | 'tools' | 'filter';

/** More tool calls than any model makes. A faulty upstream could open one in every piece. */
export const callsMax = 1_024;

/** Whether a piece may be of the same thought. Later pieces need not repeat its facts. */
export function isOfThought(last: ThoughtPiece, piece: ThoughtPiece): boolean {
  // Hidden data comes whole, and nothing follows a signature.
  if (last.form === 'hidden' || last.signature !== null || last.form !== piece.form) return false;
  return isOne(last.index, piece.index) && isOne(last.format, piece.format);
}

const isOne = <T>(one: T | null, other: T | null) =>
  one === null || other === null || one === other;

/** Adds a piece to a list in which the pieces of each thought are joined. */
export function growThoughts(thoughts: ThoughtPiece[], piece: ThoughtPiece): void {
  const last = thoughts.findLast((each) => isOfThought(each, piece));
  if (last === undefined) thoughts.push({ ...piece });
  else join(last, piece);
}

export type GatheredReply = ReturnType<typeof gatherReply>;

type Piece = TextPiece | ThoughtPiece | CallBegin | InputPiece;
type SpokenPiece = TextPiece | ThoughtPiece;

/** Adds up the events of one reply. */
export function gatherReply() {
  const pieces: Piece[] = [];
  const inputs = new Map<number, InputPiece>();
  let sayings = 0;
  let end: ReplyEnd | null = null;
  let usage: Usage | null = null;
  let hasWritten = false;
  /** Text came after the last report, which may not cover it. */
  let isOutrun = false;

  function addSaying(event: SpokenPiece): void {
    const last = pieces.at(-1);
    if (last && goesOn(last, event)) return join(last, event);
    // A faulty upstream could change between text and reasoning without end, so text is then added
    // to a piece of another thought.
    const alike = event.type === 'thought' ? { ...event, index: null, format: null } : event;
    const any = sayings++ < callsMax ? undefined : pieces.findLast((each) => goesOn(each, alike));
    if (any) return join(any, event);
    const logprobs = 'logprobs' in event && event.logprobs && { logprobs: [...event.logprobs] };
    pieces.push({ ...event, ...logprobs });
  }

  function addInput(event: InputPiece): void {
    const input = inputs.get(event.call);
    if (input) return void (input.text += event.text);
    const begun = { ...event };
    inputs.set(event.call, begun);
    pieces.push(begun);
  }

  function addPiece(event: Piece): void {
    const writes = event.type !== 'thought' || event.form !== 'hidden';
    hasWritten ||= writes;
    isOutrun ||= writes;
    if (event.type === 'input') addInput(event);
    else if (event.type === 'call') pieces.push(event);
    else addSaying(event);
  }

  return {
    add(event: ReplyEvent): void {
      if (event.type === 'end') end = event;
      else if (event.type === 'usage') {
        // Some servers repeat a growing usage in every piece, so the last one counts, unless it
        // is one of nothing behind another.
        if (usage === null || !isOfNothing(event.usage)) usage = event.usage;
        isOutrun = false;
      } else addPiece(event);
    },
    /** The model's whole text, whose tokens are counted if there is no usage. */
    text: () => pieces.map(writtenIn).join(''),
    /** The reported usage, as far as it covers the reply. `hasEnded`: it came to a regular end. */
    usage(hasEnded: boolean): Usage | null {
      // Some servers report 0 until they have counted, so 0 is not a count while text is arriving.
      const isPending = isOutrun || (hasWritten && !hasEnded);
      return isPending && usage?.completion_tokens === 0 ? promptUsageOf(usage) : usage;
    },
    end: (): ReplyEnd | null => end,
    /** The same reply in as few events as possible, without its usage. */
    events: (): ReplyEvent[] => (end ? [...pieces, end] : [...pieces]),
  };
}

function isOfNothing({ prompt_tokens = 0, completion_tokens }: Usage): boolean {
  return prompt_tokens === 0 && completion_tokens === 0;
}

function writtenIn(piece: Piece): string {
  if (piece.type === 'call') return piece.name;
  return piece.type === 'thought' && piece.form === 'hidden' ? '' : piece.text;
}

/** Whether a piece belongs to the same text or thought as the one before it. */
function goesOn(last: Piece, next: SpokenPiece): last is SpokenPiece {
  if (next.type === 'thought') return last.type === 'thought' && isOfThought(last, next);
  return last.type === next.type && last.phase === next.phase;
}

function join(last: SpokenPiece, next: SpokenPiece): void {
  last.text += next.text;
  if (last.type === 'thought' && next.type === 'thought') {
    last.signature ??= next.signature;
    last.id ??= next.id;
    last.format ??= next.format;
    last.index ??= next.index;
  } else if (last.type !== 'thought' && next.type !== 'thought' && next.logprobs) {
    last.logprobs ??= [];
    for (const each of next.logprobs) last.logprobs.push(each);
  }
}
