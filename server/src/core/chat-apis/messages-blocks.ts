import { dataIn } from '../../lib/data-address.ts';
import { itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
import { badMessages } from '../chat/chat-messages.ts';
import { textOf } from '../chat/completion.ts';
import { cacheMark } from '../chat/optional-fields.ts';
import { claudeFormat } from '../chat/reasoning-details.ts';
import { toolInput } from '../chat/tool-input.ts';
import { partsOf } from './chat-api.ts';

/** Writes a message of a chat completion as content blocks of Anthropic's Messages. */

/** @throws ApiError `bad_messages` for audio, and for a file that is neither text nor a PDF. */
export function blocksOf(message: Json, at: string): Json[] {
  if (message.role === 'assistant') return answerBlocks(message);
  const parts = partsOf(message, at);
  if (message.role !== 'tool') return parts.flatMap(({ part, at }) => blockOf(part, at));
  const mark = parts.map(({ part }) => markIn(part)).find((each) => cacheMark in each);
  const content = textOf(message.content);
  const tool_use_id = toolId(message.tool_call_id);
  return [{ type: 'tool_result', tool_use_id, ...(content !== '' && { content }), ...mark }];
}

function answerBlocks(message: Json): Json[] {
  const said = partsOf(message, '').flatMap(({ part }) =>
    textBlock(textOf(part.text) || textOf(part.refusal), part),
  );
  return [
    ...itemsOf(message.reasoning_details).map(objectOf).filter(isClaudes).map(thought),
    ...said,
    ...textBlock(textOf(message.refusal), {}),
    ...itemsOf(message.tool_calls).map(objectOf).map(toolUse),
  ];
}

/** Whether Claude can verify the reasoning as its own. Anthropic refuses any other reasoning. */
export function isClaudes({ type, signature, data, format }: Json): boolean {
  if ((format ?? claudeFormat) !== claudeFormat) return false;
  return type === 'reasoning.encrypted' ? isFilled(data) : isFilled(signature);
}

function thought({ type, text, signature, data }: Json): Json {
  if (type === 'reasoning.encrypted') return { type: 'redacted_thinking', data };
  return { type: 'thinking', thinking: textOf(text), signature };
}

function toolUse({ id, type, function: called, custom }: Json): Json {
  const { name, arguments: text, input } = objectOf(called ?? custom);
  const given = type === 'custom' ? { input: textOf(input) } : toolInput(textOf(text));
  return { type: 'tool_use', id: toolId(id), name, input: given };
}

/** Ids of other services may have characters that Anthropic refuses. */
function toolId(id: unknown): string {
  return textOf(id).replaceAll(/[^\w-]/g, '_');
}

export function markIn(of: Json): Json {
  return cacheMark in of ? { [cacheMark]: { type: 'ephemeral' } } : {};
}

function blockOf(part: Json, at: string): Json[] {
  if (part.type === 'image_url') return [{ ...imageOf(objectOf(part.image_url)), ...markIn(part) }];
  if (part.type === 'file') return [{ ...fileOf(objectOf(part.file), at), ...markIn(part) }];
  if (part.type === 'input_audio') throw badMessages(at, 'is audio, which this model cannot hear');
  return textBlock(textOf(part.text), part);
}

/** Anthropic refuses empty texts. */
function textBlock(text: string, part: Json): Json[] {
  return text === '' ? [] : [{ type: 'text', text, ...markIn(part) }];
}

function imageOf({ url }: Json): Json {
  const data = sourceIn(url);
  const source = data === null ? { type: 'url', url } : { type: 'base64', ...data };
  return { type: 'image', source };
}

function sourceIn(address: unknown): { media_type: string; data: string } | null {
  const data = dataIn(String(address));
  return data && { media_type: data.content_type, data: data.base64 };
}

function fileOf({ file_data, filename }: Json, at: string): Json {
  const title = isFilled(filename) && { title: filename };
  return { type: 'document', source: fileSource(file_data, at), ...title };
}

function fileSource(file: unknown, at: string): Json {
  if (/^https?:/i.test(String(file))) return { type: 'url', url: file };
  const [plain] = /^data:text\/plain,/.exec(String(file)) ?? [];
  if (plain !== undefined)
    return { type: 'text', media_type: 'text/plain', data: String(file).slice(plain.length) };
  // Bare base64 counts as a PDF, as at other services.
  const { media_type, data } = sourceIn(file) ?? { media_type: 'application/pdf', data: file };
  if (media_type === 'application/pdf') return { type: 'base64', media_type, data };
  if (!media_type.startsWith('text/'))
    throw badMessages(at, `is a file of ${media_type}, and this model reads text and PDF`);
  const text = Buffer.from(String(data), 'base64').toString('utf8');
  return { type: 'text', media_type: 'text/plain', data: text };
}
