import type { FastifyReply } from 'fastify';
import type { Model } from '../../core/catalog/catalog.ts';
import { readVideosCall, videosInput, videoView } from '../../core/request/videos-call.ts';
import { ApiError } from '../../core/errors.ts';
import { isFinal } from '../../core/request/request.ts';
import { pollAgainSeconds } from '../../core/request/views.ts';
import { anyRequest, nextBehind, pageOn } from '../../db/requests/request-pages.ts';
import { endOutputs } from '../../db/requests/request-steps.ts';
import { findOutputs, type CardRow } from '../../db/requests/requests.ts';
import { setSubmitHeaders, webhookQuery } from '../api/queue.ts';
import { readCards } from '../requests/read.ts';
import {
  cancelRequest,
  requireOutput,
  requireOwn,
  requestId,
  type StatusCall,
} from '../requests/status.ts';
import { sendStored } from '../api/stored.ts';
import type { ImageFields } from '../api/translated/form-files.ts';
import { receiveBody, submitTranslated } from '../api/translated/submit.ts';
import { jobHeaders } from '../call.ts';
import type { FileDeps, RequestDeps } from '../deps.ts';
import { keyedEndpoint } from '../endpoint.ts';
import * as s from '../schemas/schema.ts';
import { DeletedVideo, Video, VideoCreation, VideoList } from './videos-schema.ts';

/** OpenAI's Videos: each video is a request of the queue. */

const fields: ImageFields = {
  files: { input_reference: 'one' },
  json: { input_reference: 'input_reference' },
  advice: 'Send the picture as input_reference.',
};

/** POST /videos: JSON, or a form that may hold the picture itself. */
export const create = keyedEndpoint(
  { rawQuery: webhookQuery, rawBody: VideoCreation, reply: Video },
  async ({ req, reply }, deps) => {
    const headers = jobHeaders(req, deps);
    const { release, ...sent } = await receiveBody(req, reply, fields, deps);
    const { model, ...call } = readVideosCall(sent.body);
    const translate = (row: Model) => videosInput({ model, ...call }, row);
    const asked = { path: '/videos', model, translate, ...headers };
    const submitted = await submitTranslated(asked, sent, req, reply, deps);
    release();
    setSubmitHeaders(reply, submitted);
    // Stock clients would repeat the call after an error of what follows, and make another video.
    reply.header('x-should-retry', 'false');
    const made = await show(submitted.request_id, reply, deps);
    reply.removeHeader('x-should-retry');
    return made;
  },
);

/** GET /videos/{request_id} */
export const read = keyedEndpoint(
  { params: ['request_id'], reply: Video },
  async ({ req, reply }, deps: RequestDeps) => show((await ownVideo(req, deps)).id, reply, deps),
);

/** A video of the caller's account. Throws `not_found`. */
async function ownVideo(req: StatusCall, deps: RequestDeps): Promise<CardRow> {
  const row = requireOwn(req, await deps.operations.card(requestId(req)));
  if (row.kind !== 'video') throw new ApiError('not_found');
  return row;
}

async function show(requestId: string, reply: FastifyReply, deps: RequestDeps) {
  const { video, again } = (await findVideos([requestId], deps))[0]!;
  if (again !== null) reply.header('openai-poll-after-ms', String(again * 1000));
  return video;
}

async function findVideos(ids: string[], deps: RequestDeps) {
  const found = await readCards(ids, deps);
  return found.map(({ row, progress, outputs }) => ({
    video: videoView(row, progress?.progress ?? null, outputs, deps.links),
    again: pollAgainSeconds(row.status),
  }));
}

const ListQuery = s.object({
  after: s.optional(s.id('The last video of the page before.')),
  limit: s.integer('Videos of a page.', { minimum: 0, maximum: 100, default: 20 }),
  order: s.choice(['asc', 'desc'], 'By creation.', { default: 'desc' }),
});

/** Inputs can be large: so many are in memory at a time. */
const shownAtOnce = 10;

/** GET /videos */
export const list = keyedEndpoint(
  { query: ListQuery, reply: VideoList },
  async ({ req, query }, deps: RequestDeps) => {
    const { after = null, limit, order: sort } = query;
    const filter = { ...anyRequest, account_id: req.caller.account_id, kinds: ['video' as const] };
    const page = await pageOn(deps.db, filter, { sort, from: after }, { limit });
    const data = [];
    for (let at = 0; at < page.ids.length; at += shownAtOnce) {
      const found = await findVideos(page.ids.slice(at, at + shownAtOnce), deps);
      data.push(...found.map(({ video }) => video));
    }
    const next = nextBehind(page);
    const last_id = page.more ? (page.ids.at(-1) ?? after) : (next ?? page.ids.at(-1) ?? null);
    return {
      object: 'list' as const,
      data,
      first_id: page.ids[0] ?? null,
      last_id,
      has_more: page.more || next !== null,
    };
  },
);

const variants = ['video', 'thumbnail', 'spritesheet'] as const;
const ContentQuery = s.object({
  variant: s.choice(variants, 'Which of the outputs.', { default: 'video' }),
});

/** GET and HEAD /videos/{request_id}/content */
export const content = keyedEndpoint(
  { params: ['request_id'], query: ContentQuery },
  async ({ req, reply, query: { variant } }, deps: FileDeps) => {
    const row = await ownVideo(req, deps);
    // Throws if the video is not ready, or no longer kept.
    await requireOutput(row, deps);
    const output = (await findOutputs(deps.db, [row.id])).find(({ field, content_type }) =>
      variant === 'video' ? content_type.startsWith('video/') : field === variant,
    );
    if (output) return sendStored(req, reply, output, deps);
    throw new ApiError('not_found', { message: `This video has no ${variant}.` });
  },
);

/** DELETE /videos/{request_id}: the card stays, without its bytes. */
export const remove = keyedEndpoint(
  { params: ['request_id'], reply: DeletedVideo },
  async ({ req }, deps) => {
    const { id, status } = await ownVideo(req, deps);
    if (isFinal(status)) await endOutputs(deps.db, [id]);
    else await cancelRequest(req, deps);
    return { id, object: 'video.deleted' as const, deleted: true };
  },
);
