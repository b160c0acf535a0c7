import { objectOf } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import { callsMax } from '../../chat/reply.ts';
import type { Asked, Say } from '../api.ts';
import { restOf } from './values.ts';

/** A piece of a tool call as an upstream sends it. Texts that it leaves out are empty. */
export interface SentCall {
  id: string;
  name: string;
  /** The upstream says that the input is a text. */
  isCustom: boolean;
  input: string;
}

/** A tool call whose pieces arrive. It begins once its name is known; earlier input waits. */
export interface OpenCall {
  /** As the upstream sent it; empty if it sent none. */
  readonly id: string;
  readonly name: string;
  readonly input: string;
  add(sent: SentCall): void;
  /** Adds an input of which pieces may have come. */
  addWhole(sent: SentCall): void;
  /** Whether the input is a complete JSON object or list, to which nothing can be added. */
  isComplete(): boolean;
  /** The input has come to its end. */
  end(): void;
}

export interface Calls {
  /** A further call; null if the reply has more than any model makes. */
  open(): OpenCall | null;
  /** In the order in which they were opened. */
  all: readonly OpenCall[];
  hasBegun(): boolean;
  /** Ends every call. */
  end(): void;
}

/** The tool calls of a reply. */
export function replyCalls(asked: Asked, say: Say): Calls {
  const all: OpenCall[] = [];
  const ids = new Set<string>();
  let begun = 0;

  function idOf(sent: string, call: number): string {
    const prefix = asked.api === 'messages' ? 'toolu' : 'call';
    let id = sent;
    if (id === '' || ids.has(id)) id = `${prefix}_${asked.request_id.replaceAll('-', '')}${call}`;
    while (ids.has(id)) id += '_';
    ids.add(id);
    return id;
  }

  return {
    all,
    hasBegun: () => begun > 0,
    open() {
      if (all.length >= callsMax) return null;
      const call = openCall((id, sentName, isCustom) => {
        const name = asked.ownName(sentName);
        const isWrapped = !isCustom && asked.custom.has(name);
        const number = begun++;
        const custom = isCustom || isWrapped;
        say({ type: 'call', call: number, id: idOf(id, number), name, custom });
        return { custom, isWrapped, say: (text) => say({ type: 'input', call: number, text }) };
      });
      all.push(call);
      return call;
    },
    end() {
      for (const call of all) call.end();
    },
  };
}

/** A call that has begun. `isWrapped`: the input is JSON around the text that the tool gets. */
interface BegunCall {
  custom: boolean;
  isWrapped: boolean;
  say(input: string): void;
}

function openCall(begin: (id: string, name: string, isCustom: boolean) => BegunCall): OpenCall {
  let [id, name, input] = ['', '', ''];
  let begun: BegunCall | null = null;
  let hasEnded = false;
  const json = jsonEnd();

  function addInput(text: string): void {
    if (text === '' || hasEnded) return;
    input += text;
    json.add(text);
    if (begun?.isWrapped === false) begun.say(text);
  }

  function take(sent: SentCall, text: string): void {
    id ||= sent.id;
    name ||= sent.name;
    if (begun !== null || name === '') return addInput(text);
    addInput(text);
    begun = begin(id, name, sent.isCustom);
    if (input !== '' && !begun.isWrapped) begun.say(input);
  }

  return {
    get id() {
      return id;
    },
    get name() {
      return name;
    },
    get input() {
      return input;
    },
    add: (sent) => take(sent, sent.input),
    addWhole: (sent) => take(sent, restOf(input, sent.input)),
    isComplete: json.isComplete,
    end() {
      if (hasEnded || begun === null) return;
      hasEnded = true;
      if (begun.isWrapped && input !== '') begun.say(unwrapped(input));
      // Clients parse the input, and cannot parse an empty text.
      if (!begun.custom && input.trim() === '') begun.say('{}');
    },
  };
}

/** The text that a tool gets. The JSON around it can be removed only once all of it has arrived. */
function unwrapped(text: string): string {
  try {
    const { input } = objectOf(JSON.parse(text) as unknown);
    return isFilled(input) ? input : text;
  } catch {
    return text;
  }
}

/** Follows JSON that comes in pieces, to see where its first object or list ends. */
function jsonEnd() {
  let depth = 0;
  let hasBegun = false;
  let isText = false;
  let isEscaped = false;
  return {
    isComplete: () => hasBegun && depth === 0,
    add(piece: string): void {
      for (let i = 0; i < piece.length; i++) {
        const code = piece.charCodeAt(i);
        if (isEscaped) isEscaped = false;
        else if (code === 0x22) isText = !isText;
        else if (isText) isEscaped = code === 0x5c;
        else if (code === 0x7b || code === 0x5b) {
          depth++;
          hasBegun = true;
        } else if (code === 0x7d || code === 0x5d) depth--;
      }
    },
  };
}
