import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import sharp from 'sharp';
import { createSandbox, type SandboxOptions } from '../../src/upstreams/sandbox/sandbox.ts';
import { makeAudio, wavOf } from '../../src/upstreams/sandbox/media/audio.ts';
import type {
  Handle,
  InputFile,
  JobState,
  StartOutcome,
  Upstream,
} from '../../src/upstreams/upstream.ts';

/** A signal that is never aborted. */
export const openSignal = new AbortController().signal;

export interface MadeInput {
  fields: Record<string, unknown>;
  files: { field: string | null; content_type: string | undefined; bytes: Buffer }[];
}

export interface Ask {
  key?: string;
  files?: Record<string, InputFile>;
  /** Fields of the input that the row knows; default: all. */
  fields?: string[];
  signal?: AbortSignal;
}

export interface OpenedSandbox {
  dir: string;
  sandbox: Upstream;
  close(): Promise<void>;
}

/** A sandbox at full speed in its own folder. `close` stops it and removes the folder. */
export async function openSandbox(options: Partial<SandboxOptions> = {}): Promise<OpenedSandbox> {
  const dir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const sandbox = createSandbox({ dir, speed: Infinity, ...options });
  const close = async (): Promise<void> => {
    await sandbox.close!();
    await rm(dir, { recursive: true, force: true });
  };
  return { dir, sandbox, close };
}

/** The same for one test. */
export async function newSandbox(
  t: TestContext,
  options: Partial<SandboxOptions> = {},
): Promise<OpenedSandbox> {
  const opened = await openSandbox(options);
  t.after(() => opened.close());
  return opened;
}

let keys = 0;

export function start(
  sandbox: Upstream,
  task: string,
  input: Record<string, unknown>,
  { key = `key-${++keys}`, files = {}, fields = Object.keys(input), signal = openSignal }: Ask = {},
): Promise<StartOutcome> {
  const job = { request_id: `request-of-${key}`, idempotency_key: key, model: 'canvas' };
  const given = { task, input, fields, files, callback_url: null, signal };
  return sandbox.start({ ...job, ...given, hold: () => {}, inShare: (work) => work() });
}

export function handleOf(outcome: StartOutcome): Handle {
  assert.equal(outcome.outcome, 'accepted', JSON.stringify(outcome));
  return (outcome as { handle: Handle }).handle;
}

/** Polls until the job is no longer running. */
export async function finish(sandbox: Upstream, handle: Handle): Promise<JobState> {
  for (;;) {
    const state = await sandbox.poll(handle, openSignal);
    if (state.state !== 'running') return state;
    await wait(Math.min(100, state.poll_after_ms ?? 0));
  }
}

/** Starts a job, waits for it and opens the outputs. */
export async function make(
  sandbox: Upstream,
  task: string,
  input: Record<string, unknown>,
  ask: Ask = {},
): Promise<MadeInput> {
  return madeOf(await finish(sandbox, handleOf(await start(sandbox, task, input, ask))));
}

export function madeOf(state: JobState): MadeInput {
  assert.equal(state.state, 'done', JSON.stringify(state));
  const { result } = state as JobState & { state: 'done' };
  const files = result.media.map(({ field, content_type, source }) => {
    assert.ok('bytes' in source);
    return { field, content_type, bytes: Buffer.from(source.bytes) };
  });
  return { fields: result.fields, files };
}

export function fileOf(bytes: Uint8Array, content_type = 'application/octet-stream'): InputFile {
  const open = async (): Promise<AsyncIterable<Uint8Array>> =>
    (async function* () {
      for (let at = 0; at < bytes.length; at += 4096) yield bytes.subarray(at, at + 4096);
    })();
  return { content_type, size: bytes.length, open };
}

/**
 * A caller's files: an image of 160 x 120, a video of 96 x 64 and 1.5 s, with and without audio,
 * and audio of 1.2 s.
 */
export interface Media {
  photo: Buffer;
  film: Buffer;
  silent: Buffer;
  voice: Buffer;
  files: Record<string, InputFile>;
}

export async function makeMedia(sandbox: Upstream): Promise<Media> {
  const drawing =
    '<svg width="160" height="120"><rect width="160" height="120" fill="#8cf"/>' +
    '<circle cx="60" cy="50" r="30" fill="#d53"/>' +
    '<rect y="90" width="160" height="30" fill="#262"/></svg>';
  const photo = await sharp(Buffer.from(drawing)).jpeg().toBuffer();
  const input = { prompt: 'hills', width: 96, height: 64, duration_seconds: 1.5 };
  const loud = await make(sandbox, 'text-to-video', { ...input, generate_audio: true });
  const quiet = await make(sandbox, 'text-to-video', input);
  const film = loud.files[0]!.bytes;
  const silent = quiet.files[0]!.bytes;
  const voice = Buffer.from(wavOf(makeAudio('voice', 1, 1.2)));
  const files = {
    file_photo: fileOf(photo, 'image/jpeg'),
    file_film: fileOf(film, 'video/mp4'),
    file_silent: fileOf(silent, 'video/mp4'),
    file_voice: fileOf(voice, 'audio/wav'),
  };
  return { photo, film, silent, voice, files };
}

/** Fields of an input that name those files. */
export const image = { image_url: 'file_photo' };
export const video = { video_url: 'file_film' };
export const audio = { audio_url: 'file_voice' };
export const tiny = { width: 96, height: 64 };
