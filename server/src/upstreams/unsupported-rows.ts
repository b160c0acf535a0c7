import type { UnsupportedRow, FindUnsupported } from '../core/catalog/catalog-conflicts.ts';
import type { Model, ModelUpstream } from '../core/catalog/catalog.ts';
import { fieldForm } from '../core/catalog/field-form.ts';
import { readWorkflows, type Workflow } from './comfyui/workflow.ts';
import { openaiTasks } from './openai/openai.ts';
import { isModelName } from './replicate/replicate.ts';

/** Finds rows that their upstream can never serve, from its definition alone, without a call. */

/** `api`: the option of the adapter openai. */
export function unsupportedByOpenai({ api }: Record<string, unknown>): FindUnsupported {
  return (row) => {
    if (!openaiTasks.has(row.task)) return unsupportedTask(row, [...openaiTasks]);
    return api === 'responses' ? unsupportedAudio(row) : null;
  };
}

export function unsupportedByAnthropic(row: Model): UnsupportedRow | null {
  return row.task === 'chat' ? unsupportedAudio(row) : unsupportedTask(row, ['chat']);
}

function unsupportedTask({ task }: Model, known: string[]): UnsupportedRow {
  const message = `it has no call for ${task}; it has calls for ${known.join(', ')}`;
  return { path: '/task', message };
}

function unsupportedAudio({ input_modalities }: Model): UnsupportedRow | null {
  if (!input_modalities.includes('audio')) return null;
  const message = 'its API takes no audio in a chat; name only text, image and file';
  return { path: '/input_modalities', message };
}

export function unsupportedChat({ task }: Model): UnsupportedRow | null {
  if (task !== 'chat') return null;
  return {
    path: '/task',
    message: 'it has no chat; use an upstream of the adapter openai or anthropic',
  };
}

export function unsupportedStop({ on_cancel }: Model, canStop: boolean): UnsupportedRow | null {
  if (on_cancel === undefined || canStop) return null;
  return { path: '/on_cancel', message: 'it cannot stop a job; leave on_cancel out' };
}

export function unsupportedByReplicate(
  row: Model,
  { model }: ModelUpstream,
): UnsupportedRow | null {
  const chat = unsupportedChat(row);
  if (chat !== null || isModelName(model)) return chat;
  const forms = 'owner/name, owner/name:version and deployments/owner/name';
  return {
    path: '/model',
    message: `${model} is not a valid model name there; names have the form ${forms}`,
  };
}

/** `options`: the options of the adapter comfyui, which contain its workflows. */
export function unsupportedByWorkflows(options: Record<string, unknown>): FindUnsupported {
  const workflows = workflowsIn(options);
  return (row, route) => unsupportedChat(row) ?? unsupportedByComfyui(route, workflows);
}

/** Null if the workflows are invalid: this fault is already reported for the definition. */
function workflowsIn(options: Record<string, unknown>): ReadonlyMap<string, Workflow> | null {
  try {
    return readWorkflows(options);
  } catch {
    return null;
  }
}

function unsupportedByComfyui(
  { model, input_mapping }: ModelUpstream,
  workflows: ReadonlyMap<string, Workflow> | null,
): UnsupportedRow | null {
  if (workflows === null) return null;
  const workflow = workflows.get(model);
  if (!workflow) {
    const has = `it has ${[...workflows.keys()].join(', ') || 'none'}`;
    return { path: '/model', message: `its definition has no workflow ${model}; ${has}` };
  }
  const taken = [...Object.keys(workflow.inputs), ...Object.keys(workflow.files)];
  for (const [field, target] of Object.entries(input_mapping)) {
    const { name } = fieldForm(target);
    if (name === '' || taken.includes(name)) continue;
    const message = `its workflow ${model} has no input ${name}; it has ${taken.join(', ') || 'nothing'}`;
    return { path: `/input_mapping/${field}`, message };
  }
  return null;
}
