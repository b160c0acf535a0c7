import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../errors.ts';
import { readCompletionsCall } from './read-call.ts';

type Json = Record<string, any>;

const base = {
  model: 'a/b',
  messages: [{ role: 'user', content: 'hi' }],
  tools: [
    { type: 'function', function: { name: 'look' } },
    { type: 'custom', custom: { name: 'patch' } },
  ],
};
const look = { type: 'function', function: { name: 'look' } };
const patch = { type: 'custom', custom: { name: 'patch' } };
const chosen = { mode: 'tool', tool: 'look', only: null };
const mode = (word: string | null) => ({ mode: word, tool: null, only: null });
const allowed = (more: Json) => ({ tool_choice: { type: 'allowed_tools', allowed_tools: more } });

const choices: [string, Json, Json][] = [
  ['none is given', {}, mode(null)],
  ['null', { tool_choice: null, function_call: null }, mode(null)],
  ['auto', { tool_choice: 'auto' }, mode('auto')],
  ['none', { tool_choice: 'none' }, mode('none')],
  ['required', { tool_choice: 'required' }, mode('any')],
  ["any, Mistral's word for required", { tool_choice: 'any' }, mode('any')],
  ['a function', { tool_choice: look }, chosen],
  ['a function without the type', { tool_choice: { function: { name: 'look' } } }, chosen],
  ['a custom tool', { tool_choice: patch }, { ...chosen, tool: 'patch' }],
  [
    'allowed tools',
    allowed({ mode: 'required', tools: [look, patch] }),
    { ...mode('any'), only: ['look', 'patch'] },
  ],
  ['auto, as Cursor writes it', { tool_choice: { type: 'auto' } }, mode('auto')],
  ['a tool in the form of Messages', { tool_choice: { type: 'tool', name: 'look' } }, chosen],
  [
    'a function in the form of Responses',
    { tool_choice: { type: 'function', name: 'look' } },
    chosen,
  ],
  [
    'allowed tools in the form of Responses',
    {
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'look' }],
      },
    },
    { ...mode('auto'), only: ['look'] },
  ],
  ['an older function', { function_call: { name: 'look' } }, chosen],
  ['the older none', { function_call: 'none' }, mode('none')],
  ['both forms', { tool_choice: 'auto', function_call: { name: 'look' } }, mode('auto')],
];

for (const [what, body, choice] of choices)
  test(`reads a choice of tools: ${what}`, () => {
    assert.deepEqual(readCompletionsCall({ ...base, ...body }).conversation.choice, choice);
  });

const format = (more: Json) => ({ response_format: more });

/** Each was read as if nothing had been given, or as a tool with the name `undefined`. */
const refused: [Json, string][] = [
  [{ tool_choice: 'banana' }, 'tool_choice'],
  [{ tool_choice: '' }, 'tool_choice'],
  [{ tool_choice: {} }, 'tool_choice.name'],
  [{ tool_choice: { type: 'banana', name: 'look' } }, 'tool_choice.type'],
  [{ tool_choice: { type: 'function', name: 'look_away' } }, 'tool_choice.name'],
  [{ tool_choice: 'required', tools: [] }, 'tools'],
  [{ tool_choice: { type: 'function', function: {} } }, 'tool_choice.function.name'],
  [{ tool_choice: { type: 'custom', function: { name: 'look' } } }, 'tool_choice.name'],
  [allowed({ mode: 'none', tools: [look] }), 'tool_choice.allowed_tools.mode'],
  [allowed({ mode: 'any', tools: [look] }), 'tool_choice.allowed_tools.mode'],
  [
    allowed({ mode: 'auto', tools: [{ type: 'function', name: 'look_away' }] }),
    'tool_choice.allowed_tools.tools[0].name',
  ],
  [{ function_call: 'banana' }, 'function_call'],
  [{ function_call: {} }, 'function_call.name'],
  [format({}), 'response_format.type'],
  [format({ type: 'xml' }), 'response_format.type'],
  [format({ type: 'grammar', grammar: 'root ::= "a"' }), 'response_format.type'],
  [format({ type: 'json_schema' }), 'response_format.json_schema.schema'],
  [
    format({ type: 'json_schema', json_schema: { name: 'a' } }),
    'response_format.json_schema.schema',
  ],
];

for (const [body, param] of refused)
  test(`refuses ${JSON.stringify(body)} by the name ${param}`, () => {
    const read = () => readCompletionsCall({ ...base, ...body });
    assert.throws(read, (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.param], ['bad_request', param]);
      assert.match(error.message, / must be /);
      return true;
    });
  });
