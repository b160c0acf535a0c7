import type { Json } from '../../lib/json.ts';
import { isOfThought } from '../apis/thoughts.ts';
import {
  callsMax,
  type CallBegin,
  type InputPiece,
  type ReplyEnd,
  type ReplyEvent,
  type TextPiece,
  type ThoughtPiece,
} from './reply.ts';
import { promptUsageOf, readUsage } from './usage.ts';

/** Adds up the events of one reply. */
export interface GatheredReply {
  add(event: ReplyEvent): void;
  /** All text that the model wrote, for counting tokens if there is no usage. */
  text(): string;
  /**
   * The usage that the upstream reported, as far as it covers the reply. `hasEnded`: the reply came
   * to a regular end.
   */
  usage(hasEnded: boolean): Json | null;
  end(): ReplyEnd | null;
  /** The same reply in as few events as possible, without its usage. */
  events(): ReplyEvent[];
}

type Piece = TextPiece | ThoughtPiece | CallBegin | InputPiece;
type Saying = TextPiece | ThoughtPiece;

export function gatherReply(): GatheredReply {
  const pieces: Piece[] = [];
  const inputs = new Map<number, InputPiece>();
  let sayings = 0;
  let end: ReplyEnd | null = null;
  let usage: Json | null = null;
  let hasWritten = false;
  /** Text came after the last report, which may not cover it. */
  let isOutrun = false;

  function addSaying(event: Saying): void {
    const last = pieces.at(-1);
    if (last && goesOn(last, event)) return join(last, event);
    // A faulty upstream could change between text and reasoning without end.
    const any = sayings < callsMax ? undefined : pieces.findLast((each) => isAlike(each, event));
    if (any) return join(any, event);
    sayings++;
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
    add(event) {
      if (event.type === 'end') end = event;
      else if (event.type === 'usage') {
        // Some servers repeat a growing usage in every piece, so the last one counts.
        usage = event.usage;
        isOutrun = false;
      } else addPiece(event);
    },
    text: () => pieces.map(writtenIn).join(''),
    usage(hasEnded) {
      // Some servers report 0 until they have counted, so 0 is not a count while text is arriving.
      const isPending = isOutrun || (hasWritten && !hasEnded);
      if (usage === null || readUsage(usage)?.completion_tokens !== 0 || !isPending) return usage;
      const prompt = promptUsageOf(usage);
      if (prompt === null) return null;
      const { prompt_tokens, ...prompt_tokens_details } = prompt;
      return { prompt_tokens, prompt_tokens_details };
    },
    end: () => end,
    events: () => (end ? [...pieces, end] : [...pieces]),
  };
}

function writtenIn(piece: Piece): string {
  if (piece.type === 'call') return piece.name;
  return piece.type === 'thought' && piece.form === 'hidden' ? '' : piece.text;
}

/** Whether a piece belongs to the same text or thought as the one before it. */
function goesOn(last: Piece, next: Saying): last is Saying {
  if (next.type === 'thought') return last.type === 'thought' && isOfThought(last, next);
  return last.type === next.type && last.phase === next.phase;
}

/** Whether text can be added to a piece, although it is of another thought. */
function isAlike(last: Piece, next: Saying): last is Saying {
  return goesOn(last, next.type === 'thought' ? { ...next, index: null, format: null } : next);
}

function join(last: Saying, next: Saying): void {
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
