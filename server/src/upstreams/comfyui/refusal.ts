import type { Reply } from '../../lib/outbound/fetch.ts';
import { jsonOf } from '../replies.ts';
import type { StartOutcome } from '../upstream.ts';
import { asObject } from './history.ts';
import { isCallers, type Workflow } from './workflow.ts';

const messageMax = 500;

/**
 * The outcome if ComfyUI's validation of the prompt failed. If the caller's values are to blame,
 * the request is refused for good; otherwise the workflow does not fit the server, for example
 * because a model or a node is missing. Null for any other reply.
 */
export function refusedPrompt(
  { status, body }: Pick<Reply, 'status' | 'body'>,
  workflow: Workflow,
): StartOutcome | null {
  const reply = asObject(jsonOf(body));
  const error = asObject(reply?.error);
  if (status !== 400 || error === null) return null;
  const faults = faultsIn(asObject(reply?.node_errors) ?? {});
  const callers = faults.filter(({ node, input }) => isCallers(workflow, node, input));
  if (callers.length > 0) return { outcome: 'rejected', message: wordsOf(callers, workflow) };
  const said = [error.message, error.details].filter((each) => typeof each === 'string' && each);
  const more = faults.map(({ node, message }) => `node ${node}: ${message}`);
  const message = [...said, ...more].join('; ').slice(0, messageMax);
  return {
    outcome: 'not_accepted',
    why: 'model',
    message: `the workflow ${workflow.name}: ${message}`,
  };
}

interface NodeFault {
  node: string;
  input: string;
  message: string;
}

function faultsIn(nodes: Record<string, unknown>): NodeFault[] {
  return Object.entries(nodes).flatMap(([node, value]) => {
    const errors = asObject(value)?.errors;
    return (Array.isArray(errors) ? errors : []).flatMap((each: unknown) => {
      const { message, details, extra_info } = asObject(each) ?? {};
      const words = [message, details].filter((text) => typeof text === 'string' && text !== '');
      const input = String(asObject(extra_info)?.input_name ?? '');
      return [{ node, input, message: words.join(': ') }];
    });
  });
}

/**
 * The faults as words for the caller, who knows the names of fields but not the operator's nodes.
 */
function wordsOf(faults: readonly NodeFault[], { inputs, files }: Workflow): string {
  const fields = Object.entries({ ...inputs, ...files });
  const words = faults.map(({ node, input, message }) => {
    const [field] = fields.find(([, targets]) =>
      targets.some((each) => each.node === node && each.input === input),
    )!;
    return `${field}: ${message}`;
  });
  return words.join('; ').slice(0, messageMax);
}
