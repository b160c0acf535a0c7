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
  let legacy: OpenCall | undefined;

  function callOf(sent: SentCall, index: number | null): OpenCall | undefined {
    const ofId = byId.get(sent.id);
    const there = index === null ? (ofId ?? last) : byIndex.get(index);
    const isKnown = sent.id !== '' && ofId !== undefined;
    const isBare = sent.id === '' && sent.name === '';
    // Some servers count the index on within a call.
    if (there === undefined && isBare && last?.isComplete() === false) return last;
    if (there !== undefined && goesOn(there, sent, isKnown)) return there;
    if (isKnown && sent.name === '') return ofId;
    const call = calls.open() ?? undefined;
    if (call !== undefined && index !== null) byIndex.set(index, call);
    return call;
  }

  /** Takes the calls of a whole message, after pieces of some of them may have come. */
  function addWhole(list: SentCall[]): void {
    const known = [...calls.all];
    for (const sent of list) {
      const isSame = ({ id, name }: OpenCall) =>
        id === '' || sent.id === '' ? name === sent.name : id === sent.id;
      const at = known.findIndex(isSame);
      const call = at < 0 ? calls.open() : known.splice(at, 1)[0];
      call?.addWhole(sent);
    }
  }

  return {
    add({ tool_calls, function_call }: Json, isWhole: boolean): void {
      const list = pieces.listOf(tool_calls).filter(isObject);
      const called = pieces.jsonIn(function_call);
      const old = isObject(called) ? sentCall({ function: called }) : null;
      // Some servers repeat a call in the old field.
      const isOld = list.length === 0 && last === undefined && old !== null;
      if (isWhole) return addWhole(isOld ? [old] : list.map(sentCall));
      for (const [position, piece] of list.entries()) {
        const sent = sentCall(piece);
        const index = pieces.wholeNumberIn(piece.index) ?? (list.length > 1 ? position : null);
        last = callOf(sent, index);
        if (last === undefined || isRepeat(last, sent)) continue;
        last.add(sent);
        if (sent.id !== '' && !byId.has(sent.id)) byId.set(sent.id, last);
      }
      if (isOld && (legacy !== undefined || old.name + old.input !== '')) {
        legacy ??= calls.open() ?? undefined;
        legacy?.add(old);
      }
    },
  };
}

function sentCall(piece: Json): SentCall {
  const isCustom = piece.type === 'custom' || (piece.type !== 'function' && isObject(piece.custom));
  const own = [piece[isCustom ? 'custom' : 'function'], piece.function, piece.custom]
    .map(pieces.jsonIn)
    .find(isObject);
  const { name, args, parameters, arguments: json, input } = own ?? piece;
  // Some servers leave the usual field empty.
  const given = [json, parameters, args].map(pieces.jsonTextOf).find(isFilled) ?? '';
  return {
    proof: googleProof(piece),
    id: pieces.textOf(piece.id),
    name: pieces.textOf(name),
    isCustom,
    isValue: !isCustom && [json, parameters, args].some(isObject),
    input: given + (isCustom ? pieces.inputTextOf(input) : pieces.jsonTextOf(input)),
  };
}

/** Whether a piece belongs to the call that its id and index lead to. */
function goesOn(call: OpenCall, sent: SentCall, isKnownId: boolean): boolean {
  const hasOtherId = sent.id !== '' && call.id !== '' && sent.id !== call.id;
  const isRest = sent.name === '' || (sent.name === call.name && /^\s*[^{\s]/.test(sent.input));
  if (hasOtherId) return !isKnownId && isRest && !call.isComplete();
  if (sent.name === '' || call.name === '') return true;
  // A name may come in pieces, before any input.
  if (sent.name !== call.name) return sent.id === '' && call.id !== '' && call.input === '';
  const mayGrow = sent.isValue === true && sent.id !== '';
  return !call.isComplete() || sent.input === '' || mayGrow || isRepeat(call, sent);
}

/** Whether the whole call comes again, under its id. */
function isRepeat(call: OpenCall, sent: SentCall): boolean {
  return sent.id !== '' && sent.id === call.id && call.isComplete() && sent.input === call.input;
}
