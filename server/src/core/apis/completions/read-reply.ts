import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import type { FinishReason } from '../../chat/reply.ts';
import { usageOfReport } from '../../chat/usage.ts';
import type { OpenReader, Say } from '../api.ts';
import { endedEarly, errorIn, failed, type ReplyBroken } from '../reading/broken.ts';
import { replyCalls } from '../reading/calls.ts';
import { finishOf, reasonOf } from '../reading/finish.ts';
import { textReader } from '../reading/texts.ts';
import { replyThoughts } from '../reading/thoughts.ts';
import { countIn } from '../reading/values.ts';
import { callPieces } from './read-calls.ts';
import { readContent } from './read-content.ts';
import { reportIn } from './read-usage.ts';

/** Reads chat completions, whole or in chunks, of OpenAI and of the many servers that follow it. */
export const completionsReader: OpenReader = (asked, tell) => {
  let hasSaid = false;
  const say: Say = (event) => {
    hasSaid ||= event.type !== 'usage';
    tell(event);
  };
  const calls = replyCalls(asked, say);
  const pieces = callPieces(calls);
  const thoughts = replyThoughts(say);
  const texts = { text: textReader('text', say), refusal: textReader('refusal', say) };
  let hasChoice = false;
  let hasDelta = false;
  /** A whole reply has come. */
  let isWhole = false;
  /** The last piece was nothing but a usage, as the last one of a stream often is. */
  let isCounted = false;
  let finish: FinishReason | null = null;
  /** The reply failed. Its usage may still come. */
  let failure: ReplyBroken | null = null;
  let stop: string | null = null;

  function readMessage({ message, isPiece }: SentMessage, logprobs: Json): void {
    const form = isPiece ? 'piece' : hasDelta ? 'whole' : 'either';
    readContent(message, form, { texts, thoughts, logprobs });
    pieces.add(message, !isPiece);
    hasDelta ||= isPiece;
  }

  function readEnd(choice: Json): void {
    const word = endOf(choice);
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
    read(piece) {
      const choice = choiceIn(piece);
      const sent = messageIn(choice ?? {});
      const report = reportIn(piece, choice ?? {}, sent.message);
      const usage = report && (usageOfReport(report) ?? report);
      // A usage in the middle of a reply does not cover the text beside it.
      const isLast = !sent.isPiece || finishOf(choice?.finish_reason) !== null;
      if (usage && !isLast) say({ type: 'usage', usage });
      if (choice) readMessage(sent, objectOf(choice.logprobs));
      if (usage && isLast) say({ type: 'usage', usage });
      const error = errorIn({ error: choice?.error }) ?? errorIn(objectOf(piece.x_groq));
      if (error) throw failed(error);
      isCounted = choice === undefined && (isCounted || (hasChoice && usage !== null));
      if (!choice) return;
      hasChoice = true;
      isWhole ||= !sent.isPiece && piece.object !== 'chat.completion.chunk';
      readEnd(choice);
    },
    isOver: () => false,
    end(isMarked) {
      if (failure !== null) throw failure;
      if (finish === null && !isWhole && !((isMarked || isCounted) && hasSaid)) throw endedEarly();
      calls.end();
      say({ type: 'end', reason: reasonOf(finish, calls.hasBegun()), stop });
    },
  };
};

/** OpenRouter may give a usual reason although the provider's own one is a failure. */
function endOf({ finish_reason: usual, native_finish_reason: own }: Json): unknown {
  return finishOf(usual) !== null && finishOf(own) === 'broken' ? own : usual;
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
  return { message: isObject(delta) ? delta : { content: delta ?? text }, isPiece: true };
}
