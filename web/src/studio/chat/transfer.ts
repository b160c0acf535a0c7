import { isObject } from '../../../../client/src/unknown.ts';
import { newKey } from '../../../../client/src/runtime.ts';
import {
  asImage,
  type ChatFile,
  type Branch,
  type Conversation,
  type Message,
} from './conversations.ts';

/** Conversations as files: Markdown to read, JSON to take to another browser. */

const form = 1;
/** Longest file that is read. */
export const fileMax = 200_000_000;

/** The contents of a file: conversations, and the files in them as `data:` addresses by their ids. */
export interface ChatExport {
  conversations: Conversation[];
  files: Record<string, string>;
}

export function asMarkdown({ title, system, messages }: Conversation, you: string): string {
  const parts = [
    `# ${title}`,
    ...(system.trim() === '' ? [] : [`> ${system.trim().replaceAll('\n', '\n> ')}`]),
    ...messages.map(({ role, content, model, files = [] }) => {
      const named = files.map(({ name }) => `- ${name}\n`).join('');
      return `## ${role === 'user' ? you : (model ?? '')}\n\n${named && `${named}\n`}${content}`;
    }),
  ];
  return `${parts.join('\n\n')}\n`;
}

export function asFile({ conversations, files }: ChatExport): string {
  return JSON.stringify({ farebox_chats: form, conversations, files }, null, 2);
}

/** The contents of a file, each conversation as a new one; null if the file is no such file. */
export function fromFile(text: string): ChatExport | null {
  const file = parsed(text);
  if (!isObject(file) || file.farebox_chats !== form || !Array.isArray(file.conversations))
    return null;
  const all = file.conversations.map(conversationIn);
  const files = dataIn(file.files ?? {});
  if (!all.every((each) => each !== null) || files === null) return null;
  const sets = new Map<string, string>();
  const conversations = all.map(({ set, ...each }) => {
    if (!set) return { ...each, id: newId() };
    const id = sets.get(set.id) ?? newId();
    sets.set(set.id, id);
    return { ...each, id: newId(), set: { ...set, id } };
  });
  return { conversations, files };
}

function newId(): string {
  return newKey().slice(-12);
}

function dataIn(value: unknown): Record<string, string> | null {
  if (!isObject(value)) return null;
  const form = /^data:[\w.+/*-]+;base64,[A-Za-z0-9+/]*={0,2}$/;
  return Object.values(value).every((each) => isText(each) && form.test(each))
    ? (value as Record<string, string>)
    : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** A conversation with its known fields alone; null if one of them is not what it should be. */
function conversationIn(value: unknown): Omit<Conversation, 'id'> | null {
  if (!isObject(value)) return null;
  const { title, model, system, updated_at, max_tokens, temperature } = value;
  const messages = messagesIn(value.messages);
  const branches = branchesIn(value.branches);
  if (!isText(title) || !isText(model) || !isText(system) || !isText(updated_at)) return null;
  if (!isNumber(max_tokens) || !isNumber(temperature) || !messages || branches === null)
    return null;
  const set = setIn(value.set);
  if (set === null) return null;
  return { title, model, system, updated_at, max_tokens, temperature, messages, branches, set };
}

function setIn(value: unknown): Conversation['set'] | null {
  if (value === undefined) return undefined;
  if (!isObject(value) || !isText(value.id) || typeof value.at !== 'number') return null;
  return { id: value.id, at: value.at };
}

function branchesIn(value: unknown): Conversation['branches'] | null {
  if (value === undefined) return undefined;
  if (!isObject(value)) return null;
  const branches: Record<string, Branch> = {};
  for (const [before, branch] of Object.entries(value)) {
    if (!isObject(branch) || !Array.isArray(branch.tails)) return null;
    const tails = branch.tails.map(messagesIn);
    const at = Number(branch.at);
    if (!tails.every((tail) => tail !== null) || tails[at] === undefined) return null;
    branches[before] = { at, tails };
  }
  return branches;
}

function messagesIn(value: unknown): Message[] | null {
  if (!Array.isArray(value)) return null;
  const messages = value.map(messageIn);
  return messages.every((message) => message !== null) ? messages : null;
}

/** Fields that say how to look up a call are left behind: it may be another account's. */
function messageIn(value: unknown): Message | null {
  if (!isObject(value)) return null;
  const { id, role, content, reasoning, model, cost_usd_micro, failure, stopped } = value;
  if (!isText(id) || (role !== 'user' && role !== 'assistant') || !isText(content)) return null;
  if (![reasoning, model, failure].every((text) => text === undefined || isText(text))) return null;
  if (cost_usd_micro !== undefined && !/^\d{1,18}$/.test(String(cost_usd_micro))) return null;
  const files = filesIn(value.files ?? value.pictures);
  if (files === null) return null;
  const texts = { reasoning, model, cost_usd_micro, failure } as Partial<Message>;
  const given = Object.entries(texts).filter(([, text]) => text !== undefined);
  return {
    id,
    role,
    content,
    ...(files && { files }),
    ...(stopped === true && { stopped }),
    ...Object.fromEntries(given),
  };
}

/** Files are another account's, so each is to be uploaded again before it is sent. */
function filesIn(value: unknown): ChatFile[] | null | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) return null;
  const files = value.map((each): ChatFile | null => {
    if (!isObject(each) || !isText(each.file_id) || !isText(each.name)) return null;
    const { file_id, name, type = asImage({ file_id, name }).type } = each;
    return isText(type) ? { file_id, name, type, expires_at: longAgo } : null;
  });
  return files.every((file) => file !== null) ? files : null;
}

const longAgo = new Date(0).toISOString();

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number | undefined {
  return value === undefined || typeof value === 'number';
}
