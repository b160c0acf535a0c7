import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { hasKey, keysOf } from '../../../lib/records.ts';
import { badField } from '../../bad-request.ts';
import type { ToolChoice } from '../../chat/conversation.ts';
import { isFilled, isGiven, oneOf } from '../../check.ts';

/** Mistral's clients say `any` for `required`. */
const modes = { auto: 'auto', none: 'none', required: 'any', any: 'any' } as const;
const modesOfAllowed = { auto: 'auto', required: 'any' } as const;
const choiceType = oneOf('function', 'custom', 'allowed_tools');

const none: ToolChoice = { mode: null, tool: null, only: null };

/**
 * Reads the choice of a tool, or of a function in the older form.
 *
 * @throws ApiError `bad_request`, which names the field
 */
export function readChoice({ tool_choice: choice, function_call: older }: Json): ToolChoice {
  if (isObject(choice)) return chosenIn(choice);
  if (isGiven(choice)) return { ...none, mode: modeOf(choice, modes, 'tool_choice') };
  if (!isObject(older))
    return isGiven(older) ? { ...none, mode: modeOf(older, modes, 'function_call') } : none;
  return { ...none, mode: 'tool', tool: filled(older.name, 'function_call.name') };
}

function chosenIn(choice: Json): ToolChoice {
  const at = 'tool_choice.allowed_tools';
  if (choice.type !== 'allowed_tools')
    return { ...none, mode: 'tool', tool: nameOf(choice, 'tool_choice') };
  const { mode, tools } = objectOf(choice.allowed_tools);
  return {
    ...none,
    mode: isGiven(mode) ? modeOf(mode, modesOfAllowed, `${at}.mode`) : null,
    only: itemsOf(tools).map((tool, i) => nameOf(objectOf(tool), `${at}.tools[${i}]`)),
  };
}

function modeOf<Word extends string>(
  word: unknown,
  words: Readonly<Record<Word, ToolChoice['mode']>>,
  at: string,
): ToolChoice['mode'] {
  if (!hasKey(words, word)) throw badField(at, oneOf(...keysOf(words)).is);
  return words[word];
}

function nameOf(tool: Json, at: string): string {
  const type = isGiven(tool.type) ? tool.type : 'function';
  if (type !== 'function' && type !== 'custom') throw badField(`${at}.type`, choiceType.is);
  return filled(objectOf(tool[type]).name, `${at}.${type}.name`);
}

function filled(name: unknown, at: string): string {
  if (!isFilled(name)) throw badField(at, 'the name of a tool');
  return name;
}
