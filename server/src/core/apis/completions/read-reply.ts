import { isCount, isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import type { FinishReason } from '../../chat/reply.ts';
import { isReport, usageOfReport } from '../../chat/usage.ts';
import type { Asked, OpenReader, Say } from '../api.ts';
import { endedEarly, errorIn, failed, type ReplyBroken } from '../read-reply.ts';
import { replyCalls } from '../reading/calls.ts';
import {
  countIn,
  finishOf,
  reasonOf,
  replyThoughts,
  textOf,
  textReader,
} from '../reading/pieces.ts';
import { googleFormat } from '../thoughts.ts';
import { callPieces, readContent } from './read-message.ts';

/** Reads chat completions, whole or in chunks, of OpenAI and of the many servers that follow it. */
export const completionsReader: OpenReader = (asked, tell) => {
  let hasSaid = false;
  const say: Say = (event) => {
    hasSaid ||= event.type !== 'usage';
    tell(event);
  };
  const message = messageReader(asked, say);
  let hasChoice = false;
  /** A whole reply has come. */
  let isWhole = false;
  /** The last piece was nothing but a usage, as the last one of a stream often is. */
  let isCounted = false;
  let finish: FinishReason | null = null;
  /** The reply failed. Its usage may still come. */
  let failure: ReplyBroken | null = null;
  let stop: string | null = null;

  function readEnd(choice: Json, word: unknown): void {
    const reason = finishOf(word);
    if (reason === null) return;
    if (reason === 'broken') {
      failure = failed(choice.error, { finish_reason: word });
      return;
    }
    finish = reason;
    const told = [choice.stop_reason, choice.matched_stop].find(isFilled);
    stop = told !== undefined && asked.stops.includes(told) ? told : null;
  }

  return {
    read(piece, _name, mayCount = true) {
      const choice = choiceIn(piece);
      const sent = messageIn(choice ?? {});
      const word = endOf(choice ?? {}, sent.message, piece);
      const report = mayCount ? reportIn(piece) : null;
      const usage = report && (usageOfReport(report) ?? report);
      // A usage in the middle of a reply does not cover the text beside it.
      const isLast = !sent.isPiece || finishOf(word) !== null;
      if (usage && !isLast) say({ type: 'usage', usage });
      if (choice) message.read(sent, objectOf(choice.logprobs), isLast);
      if (usage && isLast) say({ type: 'usage', usage });
      const error =
        (choice?.error && errorIn({ error: choice.error })) ||
        (piece.x_groq && errorIn(objectOf(piece.x_groq)));
      if (error) throw failed(error);
      isCounted = choice === undefined && (isCounted || (hasChoice && usage !== null));
      if (!choice) return;
      hasChoice = true;
      isWhole ||= !sent.isPiece && piece.object !== 'chat.completion.chunk';
      readEnd(choice, word);
    },
    isOver: () => false,
    end(isMarked) {
      if (failure !== null) throw failure;
      if (finish === null && !isWhole && !((isMarked || isCounted) && hasSaid)) throw endedEarly();
      say({ type: 'end', reason: reasonOf(finish, message.end()), stop });
    },
    cut: message.cut,
  };
};

function messageReader(asked: Asked, say: Say) {
  const thoughts = replyThoughts(say);
  const calls = replyCalls(asked, say, (text, id) =>
    thoughts.piece(`call ${id}`, { form: 'hidden', text, id, format: googleFormat }),
  );
  const pieces = callPieces(calls);
  const texts = { text: textReader('text', say), refusal: textReader('refusal', say) };
  let hasDelta = false;
  return {
    read({ message, isPiece }: SentMessage, logprobs: Json, isLast: boolean): void {
      const isAgain = isLast && texts.text.isRepeat(textOf(message.content));
      const form = isPiece && !isAgain ? 'piece' : hasDelta ? 'whole' : 'either';
      readContent(message, form, { texts, thoughts, logprobs });
      pieces.add(message, !isPiece);
      hasDelta ||= isPiece;
    },
    /** Whether the message has called tools. */
    end(): boolean {
      calls.end();
      return calls.hasBegun();
    },
    cut: calls.cut,
  };
}

/**
 * The finish reason, wherever it stands. OpenRouter may give a usual one although the provider's
 * own one is a failure.
 */
function endOf(...places: [choice: Json, message: Json, piece: Json]): unknown {
  const usual = places.map((each) => each.finish_reason ?? each.finishReason).find(finishOf);
  const own = places[0].native_finish_reason;
  return usual !== undefined && finishOf(own) === 'broken' ? own : usual;
}

/** Only one choice is ever requested; a choice without an index counts as the first. */
function choiceIn({ choices, message, done, done_reason }: Json): Json | undefined {
  const own = itemsOf(choices).find((each) => isObject(each) && !(countIn(each.index) ?? 0));
  if (own !== undefined || !isObject(message)) return own as Json | undefined;
  // Ollama's own form, in which each line has the next piece of the message.
  return { delta: message, finish_reason: done === true ? (done_reason ?? 'stop') : null };
}

interface SentMessage {
  message: Json;
  /** Not a whole message, but the next piece of one. */
  isPiece: boolean;
}

function messageIn({ delta, message, text }: Json): SentMessage {
  const isEmpty = !isObject(delta) || Object.keys(delta).length === 0;
  if (isEmpty && isObject(message)) return { message, isPiece: false };
  if (isEmpty && isFilled(message)) return { message: { content: message }, isPiece: false };
  return { message: isObject(delta) ? delta : { content: delta ?? text }, isPiece: true };
}

/** The usage report in a chunk or reply, wherever it stands; null if there is none. */
export function reportIn(piece: Json): Json | null {
  const { timings, prompt_eval_count, eval_count } = piece;
  const ollama: Json | null = eval_count === undefined ? null : { prompt_eval_count, eval_count };
  const report = usageWithin(piece, 3) ?? ollama;
  const timed = isObject(timings) ? usageOfTimings(timings) : null;
  // llama.cpp reports cached tokens in its timings, not in its usage.
  if (report === null || timed === null || isObject(report.prompt_tokens_details))
    return report ?? timed;
  return { ...report, prompt_tokens_details: timed.prompt_tokens_details };
}

const isOfUsage = /usage/i;

/** The first object with the name of a usage, as far inside as a message is. */
function usageWithin(value: unknown, depth: number): Json | null {
  const fields = Object.entries(typeof value === 'object' && value !== null ? value : {});
  const own = fields.find(([name, field]) => isOfUsage.test(name) && isReport(field));
  if (own !== undefined) return objectOf(own[1]);
  if (depth === 0) return null;
  for (const [, field] of fields) {
    const found = usageWithin(field, depth - 1);
    if (found !== null) return found;
  }
  return null;
}

function usageOfTimings({ cache_n: cached = 0, prompt_n: read, predicted_n: written }: Json) {
  if (!isCount(cached) || !isCount(read) || !isCount(written)) return null;
  return {
    prompt_tokens: cached + read,
    completion_tokens: written,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
