import { objectOf, type Json } from '../../../lib/json.ts';
import { hasKey } from '../../../lib/records.ts';
import { isFilled } from '../../check.ts';
import { callsMax } from '../../chat/reply.ts';
import type { EmitEvent } from '../api.ts';
import { nothing, type Calls } from '../reading/calls.ts';
import * as pieces from '../reading/pieces.ts';
import { responsesFormat } from '../thoughts.ts';

export type ItemType = 'message' | 'reasoning' | 'call';

/** Facts that tell an item from others. Servers omit, repeat and change each of them. */
export interface ItemFacts {
  type: ItemType;
  /** Its index in the output. */
  at: number | null;
  id: string;
  call_id: string;
}

/** An item of the output whose pieces arrive. */
export interface OpenItem {
  place: ItemFacts;
  begin(own: Json): void;
  /** `kind` and `index`: of the part that the text belongs to. */
  addText(kind: string, index: number | null, sent: SentText): void;
  /** Takes the whole item, of which pieces may have come. */
  addWhole(own: Json): void;
}

export interface SentText {
  text: string;
  form: pieces.TextForm;
  logprobs: unknown;
  /** The tool that gets the text; empty if it is not said, or there is none. */
  name: string;
}

interface Readers {
  calls: Calls;
  thoughts: pieces.Thoughts;
  say: EmitEvent;
}

/** The items of a response. */
export function replyItems(readers: Readers) {
  const items: OpenItem[] = [];
  const whole = new Set<OpenItem>();
  /** Items of which only the beginning came, where some servers put all of them. */
  const begun = new Map<OpenItem, Json>();
  /** The item of the last text. Its next text is found without a search. */
  let recent: (ItemFacts & { item: OpenItem | undefined }) | null = null;

  function open(place: ItemFacts): OpenItem | undefined {
    recent = null;
    if (items.length >= callsMax) return undefined;
    const item = openItem({ ...place }, `${items.length}`, readers);
    items.push(item);
    return item;
  }

  const find = (place: ItemFacts) => findItem(items, whole, place);

  return {
    hasAny: (type: ItemType) => items.some(({ place }) => place.type === type),
    begin(own: Json, at: number | null): void {
      const place = placeOf(own, at);
      if (place === null) return;
      const known = find(place);
      const isKnown = known && (place.type !== 'call' || isSameId(known, place));
      const item = isKnown ? known : open(place);
      item?.begin(own);
      if (item && place.type !== 'reasoning' && !isKnown) begun.set(item, own);
    },
    addText(place: ItemFacts, kind: string, index: number | null, sent: SentText): void {
      if (recent === null || !isSamePlace(recent, place))
        recent = { ...place, item: find(place) ?? open(place) };
      // Ids change from event to event, so the text may be that of any message.
      for (const each of begun.keys())
        if (each === recent.item || (place.type === 'message' && each.place.type === 'message'))
          begun.delete(each);
      recent.item?.addText(kind, index, sent);
    },
    addWhole(own: Json, at: number | null): void {
      const place = placeOf(own, at);
      const item = place && (find(place) ?? open(place));
      if (!item) return;
      item.addWhole(own);
      whole.add(item);
      begun.delete(item);
    },
    /** Takes the whole output. Items without a known id are told from each other by their order. */
    addAll(output: Json[]): void {
      const rest = new Set(items);
      const take = (isSame: (item: OpenItem) => boolean) => {
        const item = [...rest].find(isSame);
        if (item) rest.delete(item);
        return item;
      };
      const list = output.flatMap((own) => {
        const place = placeOf(own, null);
        return place ? [{ own, place, known: take((item) => isSameId(item, place)) }] : [];
      });
      for (const { own, place, known } of list) {
        const item = known ?? take((each) => isAlike(each, place)) ?? open(place);
        item?.addWhole(own);
        if (item) begun.delete(item);
      }
      for (const [item, own] of begun) item.addWhole(own);
    },
  };
}

/** The item that a place is of. */
function findItem(
  items: readonly OpenItem[],
  whole: ReadonlySet<OpenItem>,
  place: ItemFacts,
): OpenItem | undefined {
  const { at, id } = place;
  const alike = items.filter((each) => isAlike(each, place));
  const isThere = (each: OpenItem) => at === null || (each.place.at ?? at) === at;
  return (
    alike.findLast((each) => isSameId(each, place) && isThere(each)) ??
    // Some servers change the id from event to event.
    alike.findLast((each) => at !== null && each.place.at === at) ??
    alike.findLast((each) => at === null && id === '' && !whole.has(each))
  );
}

function placeOf(own: Json, at: number | null): ItemFacts | null {
  const { type = own.role === 'assistant' ? 'message' : null } = own;
  if (!hasKey(itemTypes, type)) return null;
  return {
    type: itemTypes[type]!,
    at,
    id: pieces.textOf(own.id),
    call_id: pieces.textOf(own.call_id),
  };
}

const itemTypes: Readonly<Record<string, ItemType>> = {
  message: 'message',
  reasoning: 'reasoning',
  function_call: 'call',
  custom_tool_call: 'call',
};

/** Whether nothing but the id tells that it is another item. */
function isAlike({ place }: OpenItem, { type, call_id }: ItemFacts): boolean {
  const hasOtherCall = place.call_id !== '' && call_id !== '' && place.call_id !== call_id;
  return place.type === type && !hasOtherCall;
}

function isSamePlace(one: ItemFacts, other: ItemFacts): boolean {
  const { type, at, id, call_id } = other;
  return one.type === type && one.at === at && one.id === id && one.call_id === call_id;
}

function isSameId({ place }: OpenItem, { type, id, call_id }: ItemFacts): boolean {
  if (place.type !== type) return false;
  // Some servers name an item by the id of its call.
  const isNamed = id !== '' && (place.id === id || place.call_id === id);
  return isNamed || (call_id !== '' && place.call_id === call_id);
}

function openItem(place: ItemFacts, key: string, readers: Readers): OpenItem {
  if (place.type === 'call') return callItem(place, readers);
  return place.type === 'message' ? messageItem(place, readers) : thoughtItem(place, key, readers);
}

function callItem(place: ItemFacts, { calls }: Readers): OpenItem {
  const call = calls.open();
  function identify(own: Json) {
    place.id ||= pieces.textOf(own.id);
    place.call_id ||= pieces.textOf(own.call_id);
    const isCustom = own.type === 'custom_tool_call';
    return { id: place.call_id || place.id, name: pieces.textOf(own.name), isCustom, input: '' };
  }
  return {
    place,
    begin: (own) => call?.add(identify(own)),
    addText(_kind, _index, { text: input, form, name }) {
      const sent = { ...nothing, id: place.call_id, name, input };
      if (form === 'piece') call?.add(sent);
      else call?.addWhole(sent);
    },
    addWhole(own) {
      call?.addWhole({
        ...identify(own),
        input: pieces.jsonTextOf(own.arguments) || pieces.inputTextOf(own.input),
      });
    },
  };
}

function messageItem(place: ItemFacts, { say }: Readers): OpenItem {
  let phase: string | undefined;
  const parts = openParts((kind) =>
    pieces.textReader(kind === 'refusal' ? kind : 'text', say, phase),
  );
  const begin = (own: Json) => {
    if (isFilled(own.phase)) phase ??= own.phase;
  };
  return {
    place,
    begin,
    addText: parts.add,
    addWhole(own) {
      begin(own);
      parts.addWhole(partsOf(own.content), (part) => (isFilled(part.refusal) ? 'refusal' : 'text'));
    },
  };
}

function thoughtItem(place: ItemFacts, key: string, { thoughts }: Readers): OpenItem {
  let isSealed = false;
  const facts = () => ({ id: place.id || null, format: responsesFormat });
  const parts = openParts((kind, index) => {
    const form = kind === 'summary' ? kind : 'text';
    return thoughtReader((text) =>
      thoughts.piece(`${key} ${kind} ${index}`, { form, text, ...facts() }),
    );
  });
  return {
    place,
    begin: (own) => void (place.id ||= pieces.textOf(own.id)),
    addText: parts.add,
    addWhole(own) {
      place.id ||= pieces.textOf(own.id);
      parts.addWhole(partsOf(own.summary), () => 'summary');
      parts.addWhole(partsOf(own.content), () => 'content');
      const data = pieces.textOf(own.encrypted_content);
      if (!isSealed) thoughts.piece(key, { form: 'hidden', text: data, ...facts() });
      isSealed ||= data !== '';
    },
  };
}

/** A list, or the only part of one. */
function partsOf(content: unknown): unknown[] {
  return Array.isArray(content) ? content : [content];
}

type PartReader = Pick<pieces.TextReader, 'add'>;

function thoughtReader(say: (text: string) => void): PartReader {
  let said = '';
  return {
    add(text, form) {
      const piece = form === 'piece' ? text : pieces.restOf(said, text);
      said += piece;
      say(piece);
    },
  };
}

/** The texts of an item's parts. */
function openParts(open: (kind: string, index: number) => PartReader) {
  const parts = new Map<string, PartReader>();
  let last = 0;
  /** The server does not say which part a text belongs to. */
  let isLoose = false;

  function partOf(kind: string, index: number): PartReader {
    const key = `${kind} ${Math.min(index, callsMax)}`;
    const part = parts.get(key) ?? open(kind, index);
    parts.set(key, part);
    return part;
  }

  return {
    add(kind: string, index: number | null, sent: Omit<SentText, 'name'>): void {
      const { text, form, logprobs } = sent;
      isLoose ||= index === null;
      last = index ?? last;
      partOf(kind, last).add(text, form, logprobs);
    },
    addWhole(list: unknown[], kindOf: (part: Json) => string): void {
      for (const [index, part] of list.entries()) {
        if (isLoose && index > 0) return;
        const own = objectOf(part);
        const kind = kindOf(own);
        const text = kind === 'refusal' ? pieces.textOf(own.refusal) : pieces.textOf(part);
        partOf(kind, index).add(text, 'whole', own.logprobs);
      }
    },
  };
}
