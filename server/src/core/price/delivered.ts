import type { Kind, Task, Unit } from '../catalog/catalog.ts';
import { mainOutputs } from '../media/output-fields.ts';

/**
 * Decides from the measured outputs of a generation whether it is what was sold, and how many units
 * were delivered.
 */

interface TypedOutput {
  field: string | null;
  content_type: string;
}

interface MeasuredOutput extends TypedOutput {
  width: number | null;
  height: number | null;
  duration_seconds: number | null;
}

/**
 * A length counts as the requested one if it differs by at most this much, because containers round
 * to whole frames. This covers one frame of video or two of audio; short outputs get less
 * (`toleranceShare`).
 */
const toleranceSeconds = 0.05;
const toleranceShare = 0.02;

/** Tasks that may be answered with text. */
const textTasks = new Set<Task>(['video-analyze']);
/** Tasks of video rows whose output may be only audio. */
const soundTasks = new Set<Task>(['video-to-audio']);

/**
 * Whether the outputs are what the row sells; nothing else may be charged. `task` is undefined if
 * the row has been withdrawn meanwhile. In this case, any task of its kind is accepted.
 */
export function isDelivered(
  sold: { kind: Kind; task?: Task | undefined },
  outputs: TypedOutput[],
  text: unknown,
): boolean {
  const { kind, task } = sold;
  const isSaid = typeof text === 'string' && text.trim() !== '';
  if (isSaid && kind === 'video' && mayBe(task, textTasks)) return true;
  return soldOutputs(sold, outputs).length > 0;
}

/**
 * The outputs that the row sells. Any others, such as masks and previews, are delivered free of
 * charge.
 */
export function soldOutputs<T extends TypedOutput>(
  { kind, task }: { kind: Kind; task?: Task | undefined },
  outputs: T[],
): T[] {
  const of = (type: string) =>
    mainOutputs(outputs.filter(({ content_type }) => content_type.startsWith(type)));
  if (task === 'text-to-vector') return of('image/svg+xml');
  const made = of(`${kind}/`);
  const isSoundSold = kind === 'video' && mayBe(task, soundTasks);
  return made.length === 0 && isSoundSold ? of('audio/') : made;
}

function mayBe(task: Task | undefined, tasks: ReadonlySet<Task>): boolean {
  return task === undefined || tasks.has(task);
}

/**
 * The delivered units. Null if the media do not show them, or the unit is not about media. `asked`:
 * the quote's quantity.
 */
export function deliveredQuantity(
  { unit, task }: { unit: Unit; task?: Task | undefined },
  outputs: MeasuredOutput[],
  asked: number,
): number | null {
  if (unit === 'request') return 1;
  if (unit === 'sec') {
    // Only the added part is charged, and the full video does not show how long it was before.
    if (task === 'video-extend') return null;
    const films = soldOutputs({ kind: 'video', task }, outputs);
    const seconds = sum(films, (output) => output.duration_seconds);
    if (seconds === null) return null;
    const tolerance = Math.min(toleranceSeconds, asked * toleranceShare);
    return Math.abs(seconds - asked) <= tolerance ? asked : seconds;
  }
  const images = soldOutputs({ kind: 'image', task }, outputs);
  if (images.length === 0) return null;
  if (unit === 'image') return images.length;
  if (unit === 'MP') return sum(images, pixels, 1_000_000);
  return null;
}

/**
 * The units by the upstream's own count, if that fits what was delivered: not 0 beside units that
 * are there, and no more images than there are. `shown`: as `deliveredQuantity` returns it.
 */
export function countedQuantity(
  unit: Unit,
  told: number | null,
  shown: number | null,
): number | null {
  if (told === null || (told === 0 && shown !== null)) return shown;
  return unit === 'image' && shown !== null ? Math.min(told, shown) : told;
}

function pixels({ width, height }: MeasuredOutput): number | null {
  return width === null || height === null ? null : width * height;
}

function sum(
  outputs: MeasuredOutput[],
  of: (output: MeasuredOutput) => number | null,
  divisor = 1,
): number | null {
  let total = 0;
  for (const output of outputs) {
    const value = of(output);
    if (value === null) return null;
    total += value;
  }
  return outputs.length === 0 ? null : total / divisor;
}
