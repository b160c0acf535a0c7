import { objectOf } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import { callsMax, type FinishReason } from '../../chat/reply.ts';
import type { ReplyContext, EmitEvent } from '../api.ts';
import { endedEarly } from '../read-reply.ts';
import { growingInput, jsonInput, textInput, type InputReader } from './input.ts';
import { objectsIn } from '../../../lib/json/loose-json.ts';
import { jsonIn, jsonTextOf, restOf } from './pieces.ts';

/** A piece of a tool call as an upstream sends it. Texts that it leaves out are empty. */
export interface SentCall {
  id: string;
  name: string;
  /** The upstream says that the input is a text. */
  isCustom: boolean;
  input: string;
  /** The input came as a value, not as a text. */
  isValue?: boolean;
  /** Proves to the model that it made the call. */
  proof?: string;
}

/** A piece that says nothing. */
export const nothing: SentCall = { id: '', name: '', isCustom: false, input: '' };

export type OpenCall = ReturnType<typeof openCall>;
export type Calls = ReturnType<typeof replyCalls>;

/** The tool calls of a reply. `prove` gets the proof of a call, before the call begins. */
export function replyCalls(
  context: ReplyContext,
  say: EmitEvent,
  prove: (proof: string, id: string) => void = () => {},
) {
  /** In the order in which they were opened. */
  const all: OpenCall[] = [];
  /** Those of this reply and of earlier turns, which clients would take for each other. */
  let ids: Set<string> | null = null;
  let begun = 0;

  function idOf(sent: string, call: number): string {
    ids ??= new Set(context.usedIds());
    const prefix = context.api === 'messages' ? 'toolu' : 'call';
    let id = sent;
    if (id === '' || ids.has(id)) id = `${prefix}_${context.request_id.replaceAll('-', '')}${call}`;
    while (ids.has(id)) id += '_';
    ids.add(id);
    return id;
  }

  function begin(sent: SentCall): InputReader {
    const name = context.ownName(sent.name);
    const isWrapped = !sent.isCustom && context.custom.has(name);
    const call = begun++;
    const custom = sent.isCustom || isWrapped;
    const id = idOf(sent.id, call);
    if (sent.proof) prove(sent.proof, id);
    say({ type: 'call', call, id, name, custom });
    const sayInput = (text: string) => say({ type: 'input', call, text });
    if (isWrapped) return wrappedInput(sayInput);
    return custom ? textInput(sayInput) : growingInput(jsonInput(sayInput));
  }

  return {
    all,
    /** A further call; null if the reply has more than any model makes. */
    open(): OpenCall | null {
      if (all.length >= callsMax) return null;
      // Calls begin in the order in which they were opened.
      all.at(-1)?.begin();
      const call = openCall(begin);
      all.push(call);
      return call;
    },
    /**
     * The calls have come to their end. Returns the reason of the reply's end: servers tell none,
     * or `stop` after tool calls, or calls without any. A call that lacks its end was cut off,
     * whatever is told, because clients would run it with what is there.
     *
     * @throws ReplyBroken if a call lacks its end, and no reason is told
     */
    end(told: FinishReason | null): FinishReason {
      const isCut = all.some((call) => call.isCut(told !== null));
      if (isCut && told === null) throw endedEarly();
      for (const call of all) call.end();
      if (told === 'length' || told === 'filter') return told;
      if (isCut) return 'length';
      return begun > 0 ? 'tools' : 'stop';
    },
    /** Says what is left of every call of a reply that broke off. */
    cut(): void {
      for (const call of all) call.cut();
    },
  };
}

/** A tool call whose pieces arrive. Some servers send its name in pieces; input waits for it. */
function openCall(begin: (sent: SentCall) => InputReader) {
  const own = { ...nothing };
  let reader: InputReader | null = null;
  /** All that followed the end of the input. */
  let rest = '';
  let hasEnded = false;

  const textSoFar = () => reader?.text() ?? own.input;

  function open(otherName = ''): void {
    if (reader !== null || (own.name ||= otherName) === '') return;
    reader = begin(own);
    rest += reader.add(own.input, own.isValue);
  }

  function take(sent: SentCall, input: string): void {
    own.id ||= sent.id;
    own.proof ||= sent.proof;
    own.isCustom ||= sent.isCustom;
    own.isValue ||= sent.isValue === true;
    if (reader === null) own.name = grown(own.name, sent.name);
    if (input === '' || hasEnded) return;
    if (reader === null) own.input += input;
    else rest += reader.add(input, sent.isValue);
    open();
  }

  return {
    /** As the upstream sent it; empty if it sent none. */
    get id() {
      return own.id;
    },
    get name() {
      return own.name;
    },
    get input() {
      return textSoFar();
    },
    isValue: () => own.isValue === true,
    add: (sent: SentCall) => take(sent, sent.input),
    /** Adds an input of which pieces may have come. */
    addWhole: (sent: SentCall) => take(sent, restOf(textSoFar(), sent.input)),
    isComplete: (): boolean => reader?.isComplete() ?? false,
    hasInput: (): boolean => reader?.isComplete() === true || textSoFar() !== '',
    mayBecome: (input: string): boolean => reader?.mayBecome?.(input) ?? false,
    /** Whether its input lacks its end. `mayBeEmpty`: an empty one is whole. */
    isCut(mayBeEmpty: boolean): boolean {
      if (textSoFar() === '') return !mayBeEmpty && !hasEnded && own.name !== '';
      const unread = reader === null && nameIn(own.id) !== '' ? own.input : rest;
      return reader?.isOpen() === true || objectsIn(unread, callsMax).isOpen;
    },
    begin: () => open(),
    end(): void {
      if (hasEnded) return;
      open(nameIn(own.id));
      if (reader === null) return;
      hasEnded = true;
      reader.end();
      for (const input of furtherIn(textSoFar(), rest)) {
        const next = begin({ ...nothing, name: own.name });
        next.add(input);
        next.end();
      }
    },
    cut(): void {
      open(nameIn(own.id));
      if (!hasEnded) reader?.cut();
    },
  };
}

/** The name in the id of a call by Kimi; some servers send it only there. */
const nameIn = (id: string) => /^functions\.([\w-]+):\d+$/.exec(id)?.[1];

/** A name may come in pieces, or as all of it so far. */
const grown = (name: string, next: string) => (next.startsWith(name) ? next : name + next);

/** Some servers melt several calls of a tool into one; others send the same input again. */
function furtherIn(text: string, rest: string): string[] {
  const { objects } = objectsIn(rest === '' ? '' : text + rest, callsMax);
  return [...new Set(objects.map((each) => jsonTextOf(jsonIn(each))))].slice(1);
}

/** The text in JSON around it, which can be removed only once all of it has come. */
function wrappedInput(say: (text: string) => void): InputReader {
  let json = '';
  const reader = jsonInput((text) => (json += text));
  return {
    ...reader,
    end() {
      reader.end();
      const { input } = reader.isComplete() ? objectOf(JSON.parse(json) as unknown) : {};
      if (reader.text() !== '') say(isFilled(input) ? input : reader.text());
    },
    cut: () => {},
  };
}
