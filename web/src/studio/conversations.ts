/** Conversations of an account, kept in this browser only: the service keeps none of what is said. */

export interface Picture {
  file_id: string;
  name: string;
}

export interface Message {
  id: string;
  role: 'user' | 'assistant';
  content: string;
  pictures?: Picture[];
  /** What the model thought before it answered, where it tells. */
  reasoning?: string;
  model?: string;
  cost_usd_micro?: string;
  tokens?: { prompt: number; completion: number };
  /** What the service calls it, for its cost where that did not come along. */
  request_id?: string;
  /** Why it ended before its end, in words. */
  failure?: string;
  /** It was stopped by hand. */
  stopped?: boolean;
  /** The Idempotency-Key under which it was asked for. */
  key?: string;
}

export interface Conversation {
  id: string;
  title: string;
  model: string;
  system: string;
  /** Undefined leaves it to the service. */
  max_tokens?: number | undefined;
  temperature?: number | undefined;
  messages: Message[];
  updated_at: string;
}

/** More than anybody looks through; the oldest go first. */
const keptMax = 100;
const titleMax = 60;

export function load(account_id: string): Conversation[] {
  try {
    const text = localStorage.getItem(placeOf(account_id));
    return text === null ? [] : (JSON.parse(text) as Conversation[]);
  } catch {
    return [];
  }
}

/** Returns what could be kept: a browser keeps some megabytes and no more. */
export function save(account_id: string, all: Conversation[]): Conversation[] {
  let list = all.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at)).slice(0, keptMax);
  while (list.length > 0) {
    try {
      localStorage.setItem(placeOf(account_id), JSON.stringify(list));
      return list;
    } catch {
      list = list.slice(0, -1);
    }
  }
  localStorage.removeItem(placeOf(account_id));
  return all;
}

function placeOf(account_id: string): string {
  return `farebox-chats ${account_id}`;
}

export function titleOf(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > titleMax ? `${line.slice(0, titleMax - 1)}…` : line;
}

/** What its replies have cost so far. */
export function costOf({ messages }: Conversation): bigint {
  return messages.reduce((sum, { cost_usd_micro = '0' }) => sum + BigInt(cost_usd_micro), 0n);
}

/** The body of the next call. Replies that brought nothing are left out. */
export function bodyOf(conversation: Conversation): Record<string, unknown> {
  const { model, system, max_tokens, temperature, messages } = conversation;
  return {
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...messages.filter(isSaid).map(({ role, content, pictures = [] }) => ({
        role,
        content: pictures.length === 0 ? content : partsOf(content, pictures),
      })),
    ],
    ...(max_tokens !== undefined && { max_tokens }),
    ...(temperature !== undefined && { temperature }),
  };
}

function isSaid({ content, pictures }: Message): boolean {
  return content !== '' || (pictures?.length ?? 0) > 0;
}

function partsOf(content: string, pictures: Picture[]): unknown[] {
  return [
    ...(content === '' ? [] : [{ type: 'text', text: content }]),
    ...pictures.map(({ file_id }) => ({ type: 'image_url', image_url: { url: file_id } })),
  ];
}
