import type { Misfit, MisfitOf } from '../core/catalog/catalog-file.ts';
import type { Model, ModelUpstream } from '../core/catalog/catalog.ts';
import { fieldForm } from '../core/catalog/field-form.ts';
import type { AdapterName, UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import { readWorkflows, type Workflow } from './comfyui/workflow.ts';
import { openaiTasks } from './openai/openai.ts';
import { isModelName } from './replicate/replicate.ts';

/** Rows that their upstream can never serve, judged by its definition alone, without a call. */

const judges: Record<AdapterName, (options: Record<string, unknown>) => MisfitOf> = {
  openai: () => openaiMisfit,
  fal: () => chatMisfit,
  replicate: () => (row, route) => chatMisfit(row) ?? replicateMisfit(route),
  comfyui(options) {
    const workflows = workflowsIn(options);
    return (row, route) => chatMisfit(row) ?? comfyuiMisfit(route, workflows);
  },
  'http-job': () => chatMisfit,
};

export function misfitsOf({ adapter, options }: UpstreamDefinition): MisfitOf {
  return judges[adapter](options);
}

function openaiMisfit({ task }: Model): Misfit | null {
  if (openaiTasks.has(task)) return null;
  const known = [...openaiTasks].join(', ');
  return { path: '/task', message: `it has no call for ${task}; it has calls for ${known}` };
}

function chatMisfit({ task }: Model): Misfit | null {
  if (task !== 'chat') return null;
  return { path: '/task', message: 'it has no chat; an upstream of the adapter openai has' };
}

function replicateMisfit({ model }: ModelUpstream): Misfit | null {
  if (isModelName(model)) return null;
  const forms = 'owner/name, owner/name:version and deployments/owner/name';
  return { path: '/model', message: `${model} is the name of no model there; names are ${forms}` };
}

/** Null if they are inconsistent, which is reported for the definition. */
function workflowsIn(options: Record<string, unknown>): ReadonlyMap<string, Workflow> | null {
  try {
    return readWorkflows(options);
  } catch {
    return null;
  }
}

function comfyuiMisfit(
  { model, input_mapping }: ModelUpstream,
  workflows: ReadonlyMap<string, Workflow> | null,
): Misfit | null {
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
    const message = `its workflow ${model} takes no ${name}; it takes ${taken.join(', ') || 'nothing'}`;
    return { path: `/input_mapping/${field}`, message };
  }
  return null;
}
