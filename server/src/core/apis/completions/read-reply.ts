import { isCount, isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { givenFields, isFilled } from '../../check.ts';
import type { FinishReason } from '../../chat/reply.ts';
import { foreignUsage, isReport, usageOfReport, type Usage } from '../../chat/usage.ts';
import type { ReplyContext, OpenReader, EmitEvent } from '../api.ts';
import { endedEarly, errorIn, failedReply, type ReplyBroken } from '../read-reply.ts';
import { replyCalls, type Calls } from '../reading/calls.ts';
import * as pieces from '../reading/pieces.ts';
import { claudeFormat, googleFormat, googleProof, thoughtIn } from '../thoughts.ts';
import { callPieces } from './read-calls.ts';

/** Reads chat completions, whole or in chunks, of OpenAI and of the many servers that follow it. */
export const completionsReader: OpenReader = (context, tell) => {
  let hasSaid = false;
  let finish: FinishReason | null = null;
  /** Something came behind the finish reason, as from servers that send one in every piece. */
  let wentOn = false;
  const say: EmitEvent = (event) => {
    hasSaid ||= event.type !== 'usage';
    wentOn ||= event.type !== 'usage' && finish !== null;
    tell(event);
  };
  const message = messageReader(context, say);
  /** The number of the choice that is read. */
  let number: number | null = null;
  /** A whole reply has come. */
  let isWhole = false;
  /** The last piece was nothing but a usage, as the last one of a stream often is. */
  let isCounted = false;
  /** The reply failed. Its usage may still come. */
  let failure: ReplyBroken | null = null;
  let stop: string | null = null;
  const aside = callsAside();

  function readEnd(choice: Json, word: unknown): void {
    const reason = pieces.finishOf(word);
    if (reason === null) return;
    if (reason === 'broken')
      return void (failure = failedReply(choice.error, { finish_reason: word }));
    finish = reason;
    const stated = [choice.stop_reason, choice.matched_stop].find(isFilled);
    stop = stated !== undefined && context.stops.includes(stated) ? stated : null;
  }

  return {
    read(piece, _name, mayCount = true) {
      const choices = choicesIn(piece.choices).filter(isObject);
      const choice = choiceIn(piece, choices, number);
      aside.add(choices.filter((each) => each !== choice));
      const sent = messageIn(choice ?? {});
      const word = endOf(choice ?? {}, sent.message, piece);
      const usage = mayCount ? usageIn(piece) : null;
      // A usage in the middle of a reply does not cover the text beside it.
      const isLast = !sent.isPiece || pieces.finishOf(word) !== null;
      if (usage && !isLast) say({ type: 'usage', usage });
      if (choice) message.read(sent, objectOf(choice.logprobs), isLast);
      if (usage && isLast) say({ type: 'usage', usage });
      const error = errorBeside(choice?.error ?? sent.message.error, piece);
      if (error) throw failedReply(error);
      isCounted = choice === undefined && (isCounted || (number !== null && usage !== null));
      if (!choice) return;
      number ??= numberOf(choice, 0);
      // A stream of whole messages says of each but the last that it goes on.
      const goesOn = isFilled(choice.finish_reason) && pieces.finishOf(word) === null;
      isWhole ||= !sent.isPiece && !goesOn && piece.object !== 'chat.completion.chunk';
      readEnd(choice, word);
    },
    isOver: () => false,
    end(at) {
      if (failure !== null) throw failure;
      if (at === 'fault' && wentOn) throw endedEarly();
      // A usage ends a reply, too, unless something follows it.
      const hasEnded = hasSaid && (at === 'mark' || (at === 'last' && isCounted));
      const isEnd = isWhole && at !== 'fault';
      if (finish === null && !isEnd && !hasEnded) throw endedEarly();
      if (!message.hasCalls()) for (const sent of aside.calls()) message.read(sent, {}, false);
      say({ type: 'end', reason: message.end(finish), stop });
    },
    cut: message.cut,
  };
};

/** Whether a message has pictures, for which a chat has no place. */
function showsPictures({ images, content }: Json): boolean {
  const isPicture = (part: unknown) => /image/.test(pieces.textOf(objectOf(part).type));
  return itemsOf(images).some(isObject) || itemsOf(content).some(isPicture);
}

/** The error of a choice, or in Groq's own field; null if there is none. */
function errorBeside(failed: unknown, { x_groq }: Json): Json | null {
  return (
    (failed ? errorIn({ error: failed }) : null) ?? (x_groq ? errorIn(objectOf(x_groq)) : null)
  );
}

/** Copilot puts the calls of a message into a choice of their own. */
function callsAside() {
  let number: number | null = null;
  const calls: SentMessage[] = [];
  return {
    /** `choices`: those that are not read. */
    add(choices: Json[]): void {
      for (const choice of choices) {
        const { message, isPiece } = messageIn(choice);
        const { tool_calls } = message;
        if (!itemsOf(tool_calls)[0]) continue;
        number ??= numberOf(choice, 0);
        if (number === numberOf(choice, 0)) calls.push({ message: { tool_calls }, isPiece });
      }
    },
    /** Those of the first such choice. */
    calls: () => calls,
  };
}

function messageReader(context: ReplyContext, say: EmitEvent) {
  const thoughts = pieces.replyThoughts(say);
  const texts = {
    text: pieces.textReader('text', say),
    refusal: pieces.textReader('refusal', say),
  };
  let hasDelta = false;
  let hasPictures = false;
  /** Few replies call tools. */
  let tools: { calls: Calls; sent: ReturnType<typeof callPieces> } | null = null;
  function openTools() {
    const calls = replyCalls(context, say, (text, id) =>
      thoughts.piece(`call ${id}`, { form: 'hidden', text, id, format: googleFormat }),
    );
    return { calls, sent: callPieces(calls) };
  }
  return {
    read({ message, isPiece }: SentMessage, logprobs: Json, isLast: boolean): void {
      hasPictures ||= showsPictures(message);
      const isAgain = isLast && texts.text.isRepeat(pieces.textOf(message.content));
      const usual = thoughts.isGrowing() ? 'either' : 'piece';
      const form = isPiece && !isAgain ? usual : hasDelta ? 'whole' : 'either';
      readContent(message, form, { texts, thoughts, logprobs });
      const inside = itemsOf(message.content).filter(isCall);
      if (message.tool_calls || message.function_call || inside.length > 0) {
        const tool_calls = [...pieces.numberedIn(message.tool_calls), ...inside];
        (tools ??= openTools()).sent.add({ ...message, tool_calls }, !isPiece);
      }
      hasDelta ||= isPiece;
    },
    hasCalls: () => tools !== null && tools.calls.all.length > 0,
    /** The reason of the end, from what is told of it. */
    end(told: FinishReason | null): FinishReason {
      const isSilent = Object.values(texts).every((text) => text.textSoFar().trim() === '');
      const isWhole = told === null || told === 'stop';
      if (hasPictures && isWhole && isSilent && !this.hasCalls() && !thoughts.hasAny())
        throw failedReply('the model answered with nothing but pictures');
      return (tools ?? openTools()).calls.end(told);
    },
    cut: () => tools?.calls.cut(),
  };
}

interface Readers {
  texts: Record<'text' | 'refusal', pieces.TextReader>;
  thoughts: pieces.Thoughts;
  logprobs: Json;
}

/** Reads the reasoning, the text and the refusal of a message or delta. */
function readContent(message: Json, form: pieces.TextForm, readers: Readers): void {
  const { texts, thoughts, logprobs } = readers;
  const { content, refusal, extra_content } = message;
  const isThought = objectOf(objectOf(extra_content).google).thought === true;
  const [thinking, shown] = partsIn(content, isThought);
  // A whole message repeats the thoughts that came in pieces.
  if (form !== 'whole' || !thoughts.hasAny()) readThoughts(message, thinking, thoughts);
  if (extra_content !== undefined)
    thoughts.piece('proof', { form: 'hidden', text: googleProof(message), format: googleFormat });
  const isFirst = form === 'piece' || texts.text.textSoFar() === '';
  if (Array.isArray(shown) && isFirst) readParts(shown, readers);
  else texts.text.add(pieces.wordsOf(shown), form, logprobs.content);
  if (refusal) texts.refusal.add(pieces.textOf(refusal), form, logprobs.refusal);
}

/** The reasoning in a content, and the rest. Google marks it, and puts it into tags. */
function partsIn(content: unknown, isThought: boolean): [unknown[], unknown] {
  if (Array.isArray(content)) {
    const thinking = content.filter(isThinking);
    return [thinking, content.filter((part) => !isThinking(part))];
  }
  const said = pieces.wordsOf(content);
  if (!isThought && !said.includes('</thought>')) return [[], said];
  const [before, ...behind] = said.replace(/^<thought>/, '').split('</thought>');
  if (isThought) return [[{ thinking: before }], behind.join('</thought>')];
  return [[], before === '' && behind.length > 0 ? behind.join('</thought>') : content];
}

/** Whether a part of a content is a tool call, as Claude writes them. */
function isCall(part: unknown): boolean {
  return /^(tool_use|tool_call|function_call)$/.test(pieces.textOf(objectOf(part).type));
}

function isThinking(part: unknown): boolean {
  if (!isObject(part)) return false;
  return (
    /reason|think/.test(pieces.textOf(part.type)) || (part.thinking ?? part.reasoning) !== undefined
  );
}

/** A text that came as a list of parts. */
function readParts(parts: unknown[], { texts, logprobs }: Readers): void {
  let pending = logprobs.content;
  for (const part of parts) {
    if (isObject(part) && isFilled(part.refusal)) texts.refusal.add(part.refusal, 'piece', null);
    else {
      texts.text.add(pieces.textOf(part), 'piece', pending);
      pending = null;
    }
  }
}

const plainNames = [
  'reasoning_content',
  'reasoning',
  'thinking',
  'reasoning_text',
  'thinking_content',
  'thought',
];

/** Reads reasoning, which counts once although it has several names. `parts`: of the content. */
function readThoughts(message: Json, parts: unknown[], thoughts: pieces.Thoughts): void {
  const { reasoning_details, thinking_blocks, thinking } = message;
  const blocks = isObject(thinking) ? [thinking] : itemsOf(thinking_blocks);
  const details = [...pieces.listOf(reasoning_details), ...blocks].flatMap(sentThought);
  // Servers that send details repeat their texts as plain reasoning.
  const isDetailed = details.some(({ form, text }) => form !== 'hidden' && text !== '');
  const plain = plainNames.find((name) => name in message && thinkingOf(message[name]) !== '');
  if (!isDetailed && plain !== undefined) thoughts.plain(thinkingOf(message[plain]));
  for (const { index, ...sent } of details) thoughts.piece(`${sent.form} ${index}`, sent);
  if (isDetailed || plain !== undefined) return;
  for (const { index, ...sent } of parts.flatMap(sentThought))
    if (sent.form === 'hidden' || sent.signature) thoughts.piece(`part ${index}`, sent);
    else thoughts.plain(sent.text);
}

/** A thought in OpenRouter's form, or a block of Claude's. */
function sentThought(own: unknown, position: number): (pieces.SentThought & { index: number })[] {
  const { type = 'text', index, data, thinking, summary, ...proof } = objectOf(own);
  // Databricks puts the signature beside the text of a summary.
  const { signature = objectOf(itemsOf(summary).at(-1)).signature } = proof;
  const known = thoughtIn(own);
  if (known !== null) return [{ ...known, index: isCount(index) ? index : position }];
  if (!/thinking$|reasoning$|text$/.test(pieces.textOf(type))) return [];
  const isClaudes = isFilled(signature) || isFilled(data) || thinking !== undefined;
  const more = { index: position, format: isClaudes ? claudeFormat : null };
  if (isFilled(data)) return [{ form: 'hidden', text: data, ...more }];
  return [
    { form: 'text', text: thinkingOf(own), signature: pieces.textOf(signature) || null, ...more },
  ];
}

function thinkingOf(value: unknown): string {
  const { thinking, reasoning, content, summary } = objectOf(value);
  return pieces.textOf(thinking ?? reasoning ?? content ?? summary ?? value);
}

/** The finish reason, wherever it stands. OpenRouter's may hide a failure of the provider. */
function endOf(...places: [choice: Json, message: Json, piece: Json]): unknown {
  const usual = places.map((each) => each.finish_reason ?? each.finishReason).find(pieces.finishOf);
  const own = places[0].native_finish_reason;
  return usual !== undefined && pieces.finishOf(own) === 'broken' ? own : usual;
}

/**
 * Only one choice is ever requested, and only one is read: that with the number, or the first of
 * the reply. Some services give their only choice another number than 0.
 */
function choiceIn(
  { message, response, tool_calls, done, done_reason, success }: Json,
  choices: Json[],
  number: number | null,
): Json | undefined {
  const least = (read: number, each: Json) => Math.min(read, numberOf(each, 0));
  const read = number ?? choices.reduce(least, Infinity);
  const own = choices.find((each) => numberOf(each, read) === read);
  const isText = typeof response === 'string';
  if (own !== undefined || !(isText || isObject(message))) return own;
  // Ollama's own form, in which each line has the next piece of the message, and Cloudflare's.
  const delta = isText ? { content: response, tool_calls } : message;
  const hasEnded = done === true || success === true;
  return { delta, finish_reason: hasEnded ? (done_reason ?? 'stop') : null };
}

/** The choices, also if they came as one, or by their numbers. */
function choicesIn(choices: unknown): unknown[] {
  if (!isObject(choices)) return itemsOf(choices);
  const isOne = 'message' in choices || 'delta' in choices || 'text' in choices;
  return isOne ? [choices] : Object.values(choices);
}

/** A choice without a number is the one that is read. */
function numberOf({ index }: Json, read: number): number {
  return pieces.wholeNumberIn(index) ?? read;
}

interface SentMessage {
  message: Json;
  /** Not a whole message, but the next piece of one. */
  isPiece: boolean;
}

/** The message of a choice. Some servers put its calls beside it. */
function messageIn({ tool_calls, ...choice }: Json): SentMessage {
  const sent = plainMessageIn(choice);
  if (!tool_calls || sent.message.tool_calls) return sent;
  return { ...sent, message: { ...sent.message, tool_calls } };
}

function plainMessageIn({ delta, message, text }: Json): SentMessage {
  const isEmpty = !isObject(delta) || Object.keys(delta).length === 0;
  if (isEmpty && isObject(message)) return { message, isPiece: false };
  if (isEmpty && isFilled(message)) return { message: { content: message }, isPiece: false };
  return { message: isObject(delta) ? delta : { content: delta ?? text }, isPiece: true };
}

/** The usage in a chunk or reply, wherever it stands; empty if it cannot be used. Null: none. */
function usageIn(piece: Json): Usage | null {
  const report = reportWithin(piece, 3);
  // llama.cpp reports cached tokens in its timings, not in its usage.
  const timed = reportOfTimings(objectOf(piece.timings));
  if (report || timed) return usageOfReport({ ...timed, ...givenFields(report ?? {}) }) ?? {};
  // Ollama's own form has the counts beside the message.
  const usage = foreignUsage(piece);
  return usage?.completion_tokens === undefined ? null : usage;
}

/** `metrics` is Bedrock's name, `billed_units` Cohere's. */
const isOfUsage = /usage|metrics$|^billed_units$/i;

/** The first report with the name of a usage, as far inside as a message is. */
function reportWithin(value: unknown, depth: number): Json | null {
  const fields = Object.entries(typeof value === 'object' && value !== null ? value : {});
  const named = (form: RegExp) =>
    fields
      .filter(([name]) => form.test(name))
      .flatMap(([, field]) => pieces.listOf(pieces.jsonIn(field)))
      .findLast(isReport);
  const own = named(/^usage$/) ?? named(isOfUsage);
  if (own !== undefined) return own;
  if (depth === 0) return null;
  for (const [, field] of fields) {
    const found = reportWithin(field, depth - 1);
    if (found !== null) return found;
  }
  return null;
}

function reportOfTimings({ cache_n: cached = 0, prompt_n: read, predicted_n: written }: Json) {
  if (!isCount(cached) || !isCount(read) || !isCount(written)) return null;
  const prompt_tokens_details = { cached_tokens: cached };
  return { prompt_tokens: cached + read, completion_tokens: written, prompt_tokens_details };
}
