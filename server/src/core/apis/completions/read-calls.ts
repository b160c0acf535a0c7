import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import type { Calls, OpenCall, SentCall } from '../reading/calls.ts';
import * as pieces from '../reading/pieces.ts';
import { googleProof } from '../thoughts.ts';

/** Finds the tool call of each piece. Servers repeat or omit indexes, ids and names. */
export function callPieces(calls: Calls) {
  const byIndex = new Map<number, OpenCall>();
  const byId = new Map<string, OpenCall>();
  let last: OpenCall | undefined;
  /** The call in the field that was there before `tool_calls`. */
  let older: OpenCall | undefined;

  /**
   * Undefined: the reply has more calls than any model makes. `known`: how many calls came before
   * this list, in which none comes again.
   */
  function callOf(piece: SentCall, index: number | null, known: number): OpenCall | undefined {
    const ofId = byId.get(piece.id);
    const there = index === null ? (ofId ?? last) : byIndex.get(index);
    const isOwnId = ofId?.id === piece.id;
    if (there !== undefined && goesOn(there, piece, isOwnId, index !== null)) return there;
    // Some servers count the index on within a call.
    if (!there && piece.id + piece.name === '' && last?.isComplete() === false) return last;
    const isAgain = (call: OpenCall) => calls.all.indexOf(call) < known && isRepeat(call, piece);
    if (ofId !== undefined && (piece.name === '' || isAgain(ofId))) return ofId;
    const call = calls.open() ?? undefined;
    if (call !== undefined && index !== null) byIndex.set(index, call);
    return call;
  }

  function addPiece(piece: SentCall, index: number | null, known: number): void {
    last = callOf(piece, index, known);
    // A value that grows is compared as it is merged.
    if (!last || (!(piece.isValue && last.isValue()) && isRepeat(last, piece))) return;
    last.add(piece);
    if (piece.id !== '' && !byId.has(piece.id)) byId.set(piece.id, last);
  }

  function addPieces(all: SentCall[], list: Json[]): void {
    const known = calls.all.length;
    for (const [position, piece] of all.entries()) {
      const place = all.length > 1 ? position : null;
      addPiece(piece, pieces.wholeNumberIn(list[position]!.index) ?? place, known);
    }
  }

  function addOlder(piece: SentCall): void {
    if (older === undefined && piece.name + piece.input === '') return;
    older ??= calls.open() ?? undefined;
    older?.add(piece);
  }

  /** Takes the calls of a whole message, after pieces of some of them may have come. */
  function addWhole(list: SentCall[]): void {
    const known = [...calls.all];
    for (const sent of list) {
      const at = known.findIndex((each) => isSame(each, sent));
      const call = at < 0 ? calls.open() : known.splice(at, 1)[0];
      call?.addWhole(sent);
    }
  }

  return {
    add({ tool_calls, function_call }: Json, isWhole: boolean): void {
      const list = pieces.listOf(tool_calls).filter(isObject);
      const called = pieces.jsonIn(function_call);
      // Some servers repeat a call in the older field.
      const isOlder = list.length === 0 && last === undefined && isObject(called);
      const all = isOlder ? [sentCall({ function: called })] : list.map(sentCall);
      if (isWhole) addWhole(all);
      else if (isOlder) all.forEach(addOlder);
      else addPieces(all, list);
    },
  };
}

/** By the ids, if both have one. */
function isSame({ id, name }: OpenCall, sent: SentCall): boolean {
  return id === '' || sent.id === '' ? name === sent.name : id === sent.id;
}

function sentCall(piece: Json): SentCall {
  const isCustom = piece.type === 'custom' || (piece.type !== 'function' && isObject(piece.custom));
  const own = [piece[isCustom ? 'custom' : 'function'], piece.function, piece.custom]
    .map(pieces.jsonIn)
    .find(isObject);
  // Some servers write nothing but the name there.
  const bare = own === undefined && isFilled(piece.function) ? piece.function : undefined;
  const { name = bare, args, parameters, arguments: json, input } = own ?? piece;
  // Some servers leave the usual field empty.
  const given = [json, parameters, args].map(pieces.jsonTextOf).find(isFilled) ?? '';
  return {
    proof: googleProof(piece),
    id: pieces.textOf(piece.id),
    name: pieces.textOf(isObject(name) ? name.name : name),
    isCustom,
    isValue: !isCustom && [json, parameters, args].some(isObject),
    input: given + (isCustom ? pieces.inputTextOf(input) : pieces.jsonTextOf(input)),
  };
}

/**
 * Whether a piece belongs to the call that its id and index lead to. `isOwnId`: its id is that of
 * another call, and not of none, as in servers that give the pieces of all calls the same id.
 */
function goesOn(call: OpenCall, sent: SentCall, isOwnId: boolean, isPlaced: boolean): boolean {
  if (isPlaced && sent.name + sent.input === '') return true;
  const hasOtherId = sent.id !== '' && call.id !== '' && sent.id !== call.id;
  const isRest = sent.name === '' || (sent.name === call.name && /^\s*[^{\s]/.test(sent.input));
  if (hasOtherId) return !isOwnId && isRest && !call.isComplete();
  if (sent.name === '' || call.name === '') return true;
  // A name may come in pieces, before any input.
  if (sent.name !== call.name)
    return (
      call.id !== '' && !call.hasInput() && (sent.id === '' || sent.name.startsWith(call.name))
    );
  const isGrown =
    sent.isValue === true && sent.id !== '' && sent.id === call.id && call.mayBecome(sent.input);
  return !call.isComplete() || sent.input === '' || isGrown || isRepeat(call, sent);
}

/** Whether the whole call comes again: under its id, or without one after it had one. */
function isRepeat(call: OpenCall, sent: SentCall): boolean {
  if (call.id === '' || !call.isComplete()) return false;
  const isNamed = sent.name === call.name || (sent.name === '' && sent.id !== '');
  return isNamed && (sent.id || call.id) === call.id && isSameInput(sent.input, call.input);
}

/** As values, also if one was encoded twice. Only what is not much longer is parsed. */
function isSameInput(sent: string, input: string): boolean {
  if (sent === input || sent === '' || 4 * sent.length < input.length) return sent === input;
  const [one, other] = [sent, input].map((json) => pieces.jsonIn(pieces.jsonIn(json)));
  return isDeepStrictEqual(one, other);
}
