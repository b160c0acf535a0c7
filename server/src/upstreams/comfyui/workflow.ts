import { isJsonNumber } from '../../lib/long-integers.ts';
import { InputRefused } from '../inputs.ts';

/** Workflows: each is a graph of nodes, with the places in it that a request's input fills. */

interface Node {
  class_type: string;
  inputs: Record<string, unknown>;
}

interface Target {
  node: string;
  input: string;
}

export interface Workflow {
  name: string;
  /** The graph in ComfyUI's API format, by node id. */
  prompt: Record<string, Node>;
  /** By our field, the targets that its value is written to. */
  inputs: Record<string, Target[]>;
  /**
   * By our media field, the targets of the uploaded files' names: one target per file of a list.
   */
  files: Record<string, Target[]>;
  maxInputPixels: number;
  /** Ids of the nodes whose outputs are used; null: all. */
  outputs: string[] | null;
}

/** The form of the options, as `catalog/schema.json` defines it. */
interface Options {
  workflows?: Record<
    string,
    {
      prompt: Record<string, Node>;
      inputs?: Record<string, string | string[]>;
      files?: Record<string, string | string[]>;
      max_input_megapixels?: number;
      outputs?: 'all' | string[];
    }
  >;
}

/** The field that gets a random value if the caller omits it. */
export const seedField = 'seed';

/** @throws Error with words for the operator if a target does not exist in its graph. */
export function readWorkflows(options: Record<string, unknown>): Map<string, Workflow> {
  // The options have been checked against the schema of catalog files.
  const { workflows = {} } = options as Options;
  const read = Object.entries(workflows).map(([name, form]): [string, Workflow] => {
    const { prompt, inputs = {}, files = {}, outputs = 'all' } = form;
    const maxInputPixels = (form.max_input_megapixels ?? Infinity) * 1e6;
    const where = (fields: Record<string, string | string[]>) =>
      Object.fromEntries(
        Object.entries(fields).map(([field, paths]) => [field, targetsOf(name, prompt, paths)]),
      );
    const wanted = outputs === 'all' ? null : outputs;
    const unknown = wanted?.find((id) => !Object.hasOwn(prompt, id));
    if (unknown !== undefined) throw new Error(`its workflow ${name} has no node ${unknown}`);
    const places = { inputs: where(inputs), files: where(files) };
    return [name, { name, prompt, ...places, maxInputPixels, outputs: wanted }];
  });
  return new Map(read);
}

/** `3.seed`: the input `seed` of the node `3`. The input must exist in the graph. */
function targetsOf(name: string, prompt: Record<string, Node>, paths: string | string[]): Target[] {
  return [paths].flat().map((path) => {
    const dot = path.indexOf('.');
    const [node, input] = [path.slice(0, dot), path.slice(dot + 1)];
    if (!Object.hasOwn(prompt, node) || !Object.hasOwn(prompt[node]!.inputs, input))
      throw new Error(`its workflow ${name} has no input ${path}`);
    return { node, input };
  });
}

/**
 * The graph with the request's values and the names of its files filled in. Callers cannot change
 * anything that no mapping names.
 *
 * @throws InputRefused
 */
export function filledPrompt(
  workflow: Workflow,
  input: Record<string, unknown>,
  files: Readonly<Record<string, string[]>>,
): Record<string, Node> {
  const prompt = Object.fromEntries(
    Object.entries(workflow.prompt).map(([id, node]) => [
      id,
      { ...node, inputs: { ...node.inputs } },
    ]),
  );
  const put = ({ node, input: name }: Target, value: unknown) => {
    prompt[node]!.inputs[name] = value;
  };
  for (const [field, targets] of Object.entries(workflow.inputs)) {
    const value = input[field] ?? null;
    if (value === null) continue;
    // A list would mean a link to another node's output.
    if (!isJsonNumber(value) && !['string', 'boolean'].includes(typeof value))
      throw new InputRefused(`${field} must be a string, a number, true or false.`);
    for (const target of targets) put(target, value);
  }
  for (const [field, targets] of Object.entries(workflow.files)) {
    const names = files[field] ?? [];
    if (names.length > targets.length)
      throw new InputRefused(`${field} takes at most ${targets.length} files.`);
    names.forEach((name, i) => put(targets[i]!, name));
  }
  return prompt;
}

/** Whether the caller fills this input of a node, or, if `input` is null, any of its inputs. */
export function isCallers(workflow: Workflow, node: string, input: string | null): boolean {
  const targets = [...Object.values(workflow.inputs), ...Object.values(workflow.files)].flat();
  return targets.some((each) => each.node === node && (input === null || each.input === input));
}
