import { openMedia, placeMedia } from '../inputs.ts';
import type { StartJob, UpstreamTools } from '../upstream.ts';

/** What is sent as a model's input: our files are where fal can fetch them. */
export async function falInput(
  job: StartJob,
  tools: Pick<UpstreamTools, 'download'>,
  upload: (file: Awaited<ReturnType<typeof openMedia>>) => Promise<string>,
): Promise<Record<string, unknown>> {
  const uploaded = new Map<string, Promise<string>>();
  // What the caller says with an address, fal fetches or unpacks by itself.
  const place = async (value: string, field: string): Promise<string> => {
    if (!Object.hasOwn(job.files, value)) return value;
    const known =
      uploaded.get(value) ?? openMedia(value, field, job, tools).then((file) => upload(file));
    uploaded.set(value, known);
    return known;
  };
  return placeMedia(job, place);
}
