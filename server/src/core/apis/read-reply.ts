import { isObject, isWithinDepth, type Json } from '../../lib/json.ts';
import { jsonPieces } from '../../lib/outbound/json-pieces.ts';
import type { ReplyEvent } from '../chat/reply.ts';
import type { Asked, OpenReader, ReplyReader } from './api.ts';
import { errorIn, failed, ReplyBroken } from './reading/broken.ts';

/** Ample: the last event of OpenAI's Responses repeats the whole reply, and the call's tools. */
const pieceMaxChars = 32 * 1024 * 1024;

/** Reading recurses once per level. A text shorter than twice the depth cannot be deeper. */
const depthMax = 256;

/** Data with which servers show that they are still at work. */
const lifeSign =
  /^(?::|\W*(?:ping|keep[-_ ]?alive|heart[-_ ]?beat|processing)\W*$|null$|true$|""$)/i;
/** The mark of the end, as servers write it. */
const endMark = /^"?\[?done\]*"?$/i;
/** Fields in which some gateways wrap each piece of a chat completion. */
const wrappers = ['data', 'result', 'response'];

function isCompletion(value: unknown): value is Json {
  return isObject(value) && Array.isArray(value.choices);
}

/**
 * The events of a reply. The body may have any form, whatever its label says. Events that came
 * before an error count as delivered.
 *
 * @throws ReplyBroken if the reply is none or does not come to its end
 * @throws FetchError if the bytes break off, or `too_large`
 */
export async function* readReply(
  bytes: AsyncIterable<Uint8Array>,
  open: OpenReader,
  asked: Asked,
): AsyncGenerator<ReplyEvent> {
  const ready: ReplyEvent[] = [];
  const reader = open(asked, (event) => ready.push(event));
  let isMarked = false;
  const pieces = jsonPieces(pieceMaxChars, (value, text, name) => {
    if (isMarked || reader.isOver() || lifeSign.test(text)) return;
    if (endMark.test(text)) isMarked = true;
    else for (const each of Array.isArray(value) ? value : [value]) readPiece(each, text, name);
  });

  function readPiece(piece: unknown, text: string, name: string | undefined): void {
    const isDeep = text.length > 2 * depthMax && !isWithinDepth(piece, depthMax);
    if (!isObject(piece) || isDeep) throw name === 'error' ? failed(text) : unreadable(text);
    const own = wrappers.map((each) => piece[each]).find(isCompletion) ?? piece;
    reader.read(own, name);
    const error = errorIn(own) ?? (name === 'error' ? own : null);
    if (error) throw failed(error);
  }

  try {
    for await (const chunk of bytes) {
      pieces.add(chunk);
      for (const event of ready.splice(0)) yield event;
      if (isMarked || reader.isOver()) break;
    }
    pieces.end();
    reader.end(isMarked);
  } catch (error) {
    // A reply whose end has come is whole, even if the connection breaks behind it.
    const isCut = !(error instanceof ReplyBroken) || error.error === null;
    const isWhole = isCut && settle(reader);
    if (!isWhole) reader.cut();
    for (const event of ready.splice(0)) yield event;
    if (!isWhole || !(error instanceof ReplyBroken)) throw error;
  }
  for (const event of ready.splice(0)) yield event;
}

/** Says the end of a reply, if it has come. */
function settle(reader: ReplyReader): boolean {
  try {
    reader.end(false);
    return true;
  } catch (error) {
    if (!(error instanceof ReplyBroken)) throw error;
    return false;
  }
}

function unreadable(text: string): ReplyBroken {
  const isPage = text.startsWith('<');
  return new ReplyBroken(isPage ? 'answered with a page' : 'its answer has an invalid piece');
}
