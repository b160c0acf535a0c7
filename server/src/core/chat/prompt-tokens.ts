import type { Block, Conversation, MediaBlock, Tool } from './conversation.ts';
import { boundRule, boundTokens, countRule, countTokens, type TokenRule } from './tokens.ts';

/** Counts the tokens of a prompt without a tokeniser. */

/** The parts of a conversation that become prompt tokens. */
export interface Prompt extends Pick<Conversation, 'turns' | 'tools' | 'format'> {
  /**
   * Stored files in the prompt (uploads and outputs), by the value that names them; their size
   * counts in place of their bytes.
   */
  files?: StoredSizes;
}

export type StoredSizes = Readonly<Record<string, { size: number }>>;

interface Counter {
  rule: TokenRule;
  files: StoredSizes;
  text(text: string, enough: number): number;
}

/**
 * The tokens to reserve for a prompt: at least what it will cost, with the row's tokens per image;
 * at most `enough`, by default the model's context window, because no upstream accepts more. Takes
 * linear time, and stops once there are enough.
 */
export function boundPromptTokens(
  prompt: Prompt,
  model: { context_tokens: number; image_tokens?: number },
  enough: number = model.context_tokens,
): number {
  const { image_tokens: per_image = boundRule.per_image } = model;
  return promptTokens(prompt, enough, { ...boundRule, per_image }, boundTokens);
}

/**
 * The tokens to charge for a prompt whose upstream reported no usage. Never more than
 * `boundPromptTokens`.
 */
export function countPromptTokens(
  prompt: Prompt,
  context_tokens: number,
  rule: TokenRule = countRule,
): number {
  return promptTokens(prompt, context_tokens, rule, countTokens);
}

function promptTokens(
  prompt: Prompt,
  enough: number,
  rule: TokenRule,
  text: Counter['text'],
): number {
  const counter = { rule, text, files: prompt.files ?? {} };
  let total = rule.fixed + toolTokens(prompt, counter, enough);
  for (const { name, blocks } of prompt.turns) {
    if (total >= enough) return enough;
    total += rule.per_message * messagesIn(blocks);
    if (name !== null) total += text(name, enough - total);
    total += blocksTokens(blocks, counter, enough - total);
  }
  return Math.min(total, enough);
}

/** With many services, each result of a tool is a message of its own. */
function messagesIn(blocks: readonly Block[]): number {
  const results = blocks.filter(({ type }) => type === 'result').length;
  return Math.max(1, results + (results < blocks.length ? 1 : 0));
}

function toolTokens({ tools, format }: Prompt, counter: Counter, enough: number): number {
  const { rule } = counter;
  const total = format === null ? 0 : counter.text(JSON.stringify(format), enough);
  if (tools.length === 0) return total;
  const written = tools.map(asWritten).join();
  return total + rule.tools_fixed + tools.length * rule.per_tool + counter.text(written, enough);
}

/** Services show a tool to the model in about this form. */
function asWritten({ name, description, parameters, custom }: Tool): string {
  const own = { name, description, parameters, ...custom?.grammar };
  return JSON.stringify({ type: 'function', function: own });
}

function blocksTokens(blocks: readonly Block[], counter: Counter, enough: number): number {
  let total = 0;
  for (const block of blocks) {
    if (total >= enough) break;
    total += blockTokens(block, counter, enough - total);
  }
  return total;
}

function blockTokens(block: Block, counter: Counter, enough: number): number {
  const { rule } = counter;
  switch (block.type) {
    case 'text':
    case 'refusal':
      return counter.text(block.text, enough);
    case 'thought':
      return counter.text(block.text, enough) + counter.text(block.signature ?? '', enough);
    case 'call': {
      const { id, name, input } = block;
      const call = { id, type: 'function', function: { name, arguments: input } };
      return counter.text(JSON.stringify(call), enough);
    }
    case 'result':
      return counter.text(block.call, enough) + blocksTokens(block.blocks, counter, enough);
    case 'image':
      return rule.per_image;
    case 'audio': {
      const chars = audioChars(block, counter);
      return chars === null ? rule.per_unknown : Math.ceil(chars / rule.audio_chars_per_token);
    }
    case 'file':
      return rule.per_unknown;
  }
}

/** The number of base64 characters that the model is given; null if it is unknown. */
function audioChars({ media }: MediaBlock, { files }: Counter): number | null {
  const { from, value } = media;
  if (Object.hasOwn(files, value)) return 4 * Math.ceil(files[value]!.size / 3);
  return from === 'base64' ? value.length : null;
}
