import { createHash } from 'node:crypto';
import {
  faultSwitch,
  htmlPage,
  media,
  outputAnswer,
  serve,
  type AcceptedJob,
  type Answer,
  type Biller,
  type Call,
  type FakeUpstream,
} from './kit.ts';
import { madeAt, madeFile } from './made.ts';

/** A fake ComfyUI server. It has a few nodes, and makes the same image for each graph. */

type Graph = Record<string, { class_type: string; inputs: Record<string, unknown> }>;

export const checkpoint = 'sd_xl_base_1.0.safetensors';
const upscaler = 'RealESRGAN_x4plus.pth';
const nodes = new Set([
  'CheckpointLoaderSimple',
  'CLIPTextEncode',
  'EmptyLatentImage',
  'KSampler',
  'VAEDecode',
  'VAEEncode',
  'LoadImage',
  'ImageScaleToTotalPixels',
  'UpscaleModelLoader',
  'ImageUpscaleWithModel',
  'SaveImage',
  'PreviewImage',
  'SaveVideo',
]);

interface Job extends AcceptedJob {
  number: number;
  graph: Graph;
  extra_data: unknown;
  looks: number;
  state: 'pending' | 'running' | 'done' | 'interrupted' | 'deleted';
}

export interface FakeComfyui extends FakeUpstream {
  /** Adds a job of another client. */
  addForeign(prompt_id: string, state: 'pending' | 'running'): void;
  stateOf(prompt_id: string): string | undefined;
}

/**
 * With a biller it makes that biller's outputs; the model's name is that of the most costly node.
 */
export async function fakeComfyui(biller?: Biller): Promise<FakeComfyui> {
  const journal: Job[] = [];
  const foreign: Job[] = [];
  const files = new Map<string, Buffer>();
  const switched = faultSwitch();
  let held = false;
  let numbers = 0;

  const server = await serve((call) => {
    const { host, origin } = call.headers;
    if (origin !== undefined && new URL(origin).host !== host) return { status: 403 };
    const path = call.path.replace(/^\/api\//, '/');
    const [, room, id] = path.split('/');
    if (room === 'prompt' && call.method === 'POST') return submit(call);
    if (room === 'history' && id !== undefined) return history(decodeURIComponent(id));
    if (room === 'queue') return call.method === 'POST' ? changeQueue(call) : { json: queue() };
    if (room === 'interrupt' && call.method === 'POST') return interrupt(call);
    if (path === '/upload/image' && call.method === 'POST') return upload(call);
    if (room === 'view') return view(call);
    if (path === '/system_stats')
      return { json: { system: { comfyui_version: '0.3.64' }, devices: [] } };
    return { status: 404, body: '404: Not Found' };
  });

  function submit(call: Call): Answer {
    if (switched.shows('submit-reset', 1)) return { cutAfter: 0 };
    if (switched.shows('submit-503')) return { status: 503, body: htmlPage };
    const { prompt, prompt_id, extra_data = {} } = call.json();
    if (!prompt || Object.keys(prompt).length === 0)
      return refusal('no_prompt', 'No prompt provided', 'No prompt provided');
    const fault = switched.shows('submit-invalid')
      ? refusalOf({ '6': [bigger('text')] })
      : switched.shows('submit-model')
        ? refusalOf({ '4': [notInList('ckpt_name', 'gone.safetensors')] })
        : graphFault(prompt, files);
    if (fault !== null) return fault;
    const job = jobOf(prompt, prompt_id ?? crypto.randomUUID(), extra_data);
    if (biller) {
      job.model = dearestNode(prompt);
      job.bill = biller(job, files);
    }
    journal.push(job);
    return switched.lost() ?? { json: { prompt_id: job.id, number: job.number, node_errors: {} } };
  }

  function jobOf(graph: Graph, id: string, extra_data: unknown): Job {
    const input = Object.fromEntries(
      Object.entries(graph).flatMap(([node, { inputs }]) =>
        Object.entries(inputs).map(([name, value]) => [`${node}.${name}`, value]),
      ),
    );
    const facts = { idempotency_key: id, callback_url: null, cancelled: false };
    const model = Object.values(graph).at(-1)!.class_type;
    const place = { number: numbers++, looks: 0, state: 'pending' as const };
    return { id, model, input, ...facts, graph, extra_data, ...place };
  }

  /** Each poll moves the job one step on: pending, running, done. */
  function history(id: string): Answer {
    const fault = pollFault();
    if (fault !== null) return fault;
    const job = journal.find((each) => each.id === id);
    if (!job || job.state === 'deleted' || isHidden()) return { json: {} };
    if (job.state === 'pending' || job.state === 'running') {
      const step = held ? Math.min(job.looks, 1) : job.looks++;
      const words = switched.is('poll-regress')
        ? (['running', 'pending'] as const)
        : (['pending', 'running'] as const);
      job.state = words[step] ?? 'done';
      if (!held && switched.is('poll-at-once-done')) job.state = 'done';
    }
    if (job.state === 'pending' || job.state === 'running') return { json: {} };
    if (switched.is('finish-gone')) return { json: {} };
    return { json: { [id]: entryOf(job) } };
  }

  function pollFault(): Answer | null {
    return switched.hitch({
      'poll-500': { status: 500, body: '500 Internal Server Error' },
      'poll-error-in-200': { json: { error: 'the disk is full' } },
    });
  }

  function entryOf(job: Job): unknown {
    const prompt = [job.number, job.id, job.graph, job.extra_data, outputNodes(job.graph)];
    const told = (event: string, more = {}) => [
      event,
      { prompt_id: job.id, timestamp: 1, ...more },
    ];
    const bad = (...messages: unknown[]) => ({
      prompt,
      outputs: {},
      status: { status_str: 'error', completed: false, messages },
      meta: {},
    });
    if (job.state === 'interrupted')
      return bad(told('execution_start'), told('execution_interrupted', { node_id: '3' }));
    if (switched.is('finish-failed'))
      return bad(told('execution_start'), told('execution_error', outOfMemory));
    if (switched.shows('poll-unknown-word', 1))
      return { prompt, outputs: {}, status: { status_str: 'caching', completed: false } };
    const outputs = switched.is('finish-empty') ? {} : outputsOf(job);
    const status_str = switched.is('poll-upper-case') ? 'SUCCESS' : 'success';
    const messages = [told('execution_start'), told('execution_success')];
    return { prompt, outputs, status: { status_str, completed: true, messages }, meta: {} };
  }

  function outputsOf({ id, graph, bill }: Job) {
    if (bill) {
      const images = bill.made.map(({ kind }, i) => ({
        filename: `${id}-${i}.${kind}`,
        subfolder: '',
        type: 'output',
      }));
      return { [outputNodes(graph)[0]!]: { images } };
    }
    const stem = createHash('sha256').update(id).digest('hex').slice(0, 6);
    const count = switched.is('output-several') ? 2 : batchOf(graph);
    const list = (ending: string, type: string, subfolder = '') =>
      Array.from({ length: count }, (_, i) => ({
        filename: `out_${stem}_0000${i + 1}_.${ending}`,
        subfolder,
        type,
      }));
    const made = outputNodes(graph).map((node) => {
      const { class_type } = graph[node]!;
      if (class_type === 'PreviewImage') return [node, { images: list('png', 'temp') }];
      if (class_type === 'SaveVideo')
        return [node, { images: list('mp4', 'output', 'video'), animated: [true] }];
      return [node, { images: list('png', 'output') }];
    });
    return Object.fromEntries(made);
  }

  /** Whether to hide a known job from one poll: the history, the queue, and the history again. */
  function isHidden(): boolean {
    return switched.shows('poll-404-once', 3) || switched.is('poll-404-always');
  }

  function queue() {
    const hidden = isHidden();
    const rows = (state: string) =>
      (hidden ? [] : [...foreign, ...journal])
        .filter((job) => job.state === state)
        .map((job) => [job.number, job.id, job.graph, job.extra_data, outputNodes(job.graph)]);
    return { queue_running: rows('running'), queue_pending: rows('pending') };
  }

  function changeQueue(call: Call): Answer {
    const { delete: ids = [], clear } = call.json<{ delete?: string[]; clear?: boolean }>();
    for (const job of [...journal, ...foreign]) {
      const isNamed = clear === true || ids.includes(job.id);
      if (!isNamed || job.state !== 'pending') continue;
      job.cancelled = true;
      if (!switched.is('cancel-late')) job.state = 'deleted';
    }
    return {};
  }

  /** Ends the given job, by default the running one. */
  function interrupt(call: Call): Answer {
    const { prompt_id } = call.body.length === 0 ? {} : call.json();
    for (const job of [...journal, ...foreign]) {
      if (job.state !== 'running' || (prompt_id && prompt_id !== job.id)) continue;
      job.cancelled = true;
      if (!switched.is('cancel-late')) job.state = 'interrupted';
    }
    return {};
  }

  async function upload(call: Call): Promise<Answer> {
    const headers = { 'content-type': String(call.headers['content-type']) };
    const form = await new Response(call.body, { headers }).formData().catch(() => null);
    const image = form?.get('image');
    if (!(image instanceof File)) return { status: 400 };
    const bytes = Buffer.from(await image.bytes());
    const name = freeName(image.name, bytes);
    files.set(name, bytes);
    return { json: { name, subfolder: '', type: form!.get('type') ?? 'input' } };
  }

  /** A free name for these bytes: the wanted one, unless a file with other bytes has it. */
  function freeName(wanted: string, bytes: Buffer): string {
    const [, stem, ending] = /^(.*?)(\.[^.]*)?$/.exec(wanted)!;
    for (let i = 0; ; i++) {
      const name = i === 0 ? wanted : `${stem} (${i})${ending ?? ''}`;
      if (!files.has(name) || files.get(name)!.equals(bytes)) return name;
    }
  }

  function view({ query }: Call): Answer {
    const name = query.get('filename') ?? '';
    if (name === '' || name.includes('..') || name.startsWith('/')) return { status: 400 };
    if (query.get('type') !== 'output') return { status: 404 };
    const made = madeAt(`/outputs/${name}`, journal);
    if (made) return { body: madeFile(made) };
    const ending = name.split('.').pop()!;
    return ending in media ? outputAnswer(ending as keyof typeof media, switched) : { status: 404 };
  }

  return {
    url: server.url,
    key: 'nobody-asks-for-it',
    secret: null,
    journal,
    calls: server.calls,
    files,
    play: switched.play,
    mend: switched.mend,
    hold: (on) => void (held = on),
    callback: () => null,
    close: server.close,
    addForeign: (id, state) => void foreign.push({ ...jobOf(textToImage(), id, {}), state }),
    stateOf: (id) => [...journal, ...foreign].find((job) => job.id === id)?.state,
  };
}

const outOfMemory = {
  node_id: '3',
  node_type: 'KSampler',
  exception_type: 'torch.OutOfMemoryError',
  exception_message:
    'Allocation on device 0 would exceed allowed memory. (/opt/ComfyUI/comfy/ops.py)',
  traceback: ['  File "/opt/ComfyUI/execution.py", line 1'],
};

function outputNodes(graph: Graph): string[] {
  const saves = new Set(['SaveImage', 'PreviewImage', 'SaveVideo']);
  return Object.keys(graph).filter((id) => saves.has(graph[id]!.class_type));
}

function dearestNode(graph: Graph): string {
  const classes = Object.values(graph).map(({ class_type }) => class_type);
  const dear = ['ImageUpscaleWithModel', 'VAEEncode', 'EmptyLatentImage'];
  return dear.find((name) => classes.includes(name)) ?? classes[0]!;
}

function batchOf(graph: Graph): number {
  const latent = Object.values(graph).find(({ class_type }) => class_type === 'EmptyLatentImage');
  return Number(latent?.inputs.batch_size ?? 1);
}

type NodeError = ReturnType<typeof bigger>;

function bigger(input_name: string) {
  return {
    type: 'value_bigger_than_max',
    message: 'Value bigger than max',
    details: input_name,
    extra_info: { input_name },
  };
}

function notInList(input_name: string, value: unknown): NodeError {
  const details = `${input_name}: '${String(value)}' not in ['${checkpoint}']`;
  return {
    ...bigger(input_name),
    type: 'value_not_in_list',
    message: 'Value not in list',
    details,
  };
}

function refusal(type: string, message: string, details: string, node_errors = {}): Answer {
  return { status: 400, json: { error: { type, message, details, extra_info: {} }, node_errors } };
}

function refusalOf(faults: Record<string, NodeError[]>): Answer {
  const node_errors = Object.fromEntries(
    Object.entries(faults).map(([id, errors]) => [
      id,
      { errors, dependent_outputs: ['9'], class_type: 'Node' },
    ]),
  );
  const message = 'Prompt outputs failed validation';
  return refusal('prompt_outputs_failed_validation', message, '', node_errors);
}

function graphFault(graph: Graph, files: ReadonlyMap<string, Buffer>): Answer | null {
  for (const [id, { class_type }] of Object.entries(graph)) {
    if (nodes.has(class_type)) continue;
    const details = `Node ID '#${id}'`;
    return refusal(
      'invalid_prompt',
      `Cannot execute because node ${class_type} does not exist.`,
      details,
    );
  }
  if (outputNodes(graph).length === 0)
    return refusal('prompt_no_outputs', 'Prompt has no outputs', '');
  const faults: Record<string, NodeError[]> = {};
  for (const [id, { class_type, inputs }] of Object.entries(graph)) {
    const errors: NodeError[] = [];
    if (class_type === 'CheckpointLoaderSimple' && inputs.ckpt_name !== checkpoint)
      errors.push(notInList('ckpt_name', inputs.ckpt_name));
    if (class_type === 'UpscaleModelLoader' && inputs.model_name !== upscaler)
      errors.push(notInList('model_name', inputs.model_name));
    if (class_type === 'KSampler' && Number(inputs.steps) > 10_000) errors.push(bigger('steps'));
    if (class_type === 'LoadImage' && !files.has(String(inputs.image)))
      errors.push({
        type: 'custom_validation_failed',
        message: 'Custom validation failed for node',
        details: `image - Invalid image file: ${String(inputs.image)}`,
        extra_info: { input_name: 'image' },
      });
    if (errors.length > 0) faults[id] = errors;
  }
  return Object.keys(faults).length === 0 ? null : refusalOf(faults);
}

/** ComfyUI's own default graph. */
export function textToImage(): Graph {
  return {
    '3': {
      class_type: 'KSampler',
      inputs: {
        seed: 0,
        steps: 20,
        cfg: 8,
        sampler_name: 'euler',
        scheduler: 'normal',
        denoise: 1,
        model: ['4', 0],
        positive: ['6', 0],
        negative: ['7', 0],
        latent_image: ['5', 0],
      },
    },
    '4': { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: checkpoint } },
    '5': { class_type: 'EmptyLatentImage', inputs: { width: 1024, height: 1024, batch_size: 1 } },
    '6': { class_type: 'CLIPTextEncode', inputs: { text: '', clip: ['4', 1] } },
    '7': { class_type: 'CLIPTextEncode', inputs: { text: 'blurry', clip: ['4', 1] } },
    '8': { class_type: 'VAEDecode', inputs: { samples: ['3', 0], vae: ['4', 2] } },
    '9': { class_type: 'SaveImage', inputs: { filename_prefix: 'farebox', images: ['8', 0] } },
  };
}
