/**
 * Runs in a worker thread, which can be ended from outside, because a hostile file can keep the
 * parser busy for ever. Answers each `InspectTask` with an `InspectAnswer`.
 */
import { open } from 'node:fs/promises';
import { parentPort } from 'node:worker_threads';
import * as mediabunny from 'mediabunny';
import { readXing } from './cut-short.ts';
import { reader, secondsMax } from './reader.ts';
import type { InspectAnswer, InspectTask, Tracks } from './inspect.ts';

/** Older cameras write no `ftyp`, by which the parser tells this type. Our look has told it. */
const quickTime = Object.create(mediabunny.QTFF, {
  _canReadInput: { value: () => Promise.resolve(true) },
}) as mediabunny.InputFormat;

/**
 * The formats that the parser may try for each detected type; fewer formats leave less to attack.
 * Playlists are excluded, because they make the parser open other files and addresses.
 */
const formats: Record<string, mediabunny.InputFormat[]> = {
  'video/mp4': [mediabunny.MP4, mediabunny.QTFF],
  'video/quicktime': [mediabunny.MP4, mediabunny.QTFF, quickTime],
  'audio/mp4': [mediabunny.MP4, mediabunny.QTFF],
  'video/webm': [mediabunny.WEBM, mediabunny.MATROSKA],
  'video/x-matroska': [mediabunny.WEBM, mediabunny.MATROSKA],
  'audio/mpeg': [mediabunny.MP3],
  'audio/flac': [mediabunny.FLAC],
  'audio/aac': [mediabunny.ADTS],
};

// Silent, because the parser logs remarks on strange files, and uploads could flood our log.
mediabunny.Logging.level = mediabunny.LogLevel.Silent;

parentPort?.on('message', (task: InspectTask) => {
  void answer(task).then((reply) => parentPort?.postMessage(reply));
});

async function answer(task: InspectTask): Promise<InspectAnswer> {
  try {
    return { tracks: await readTracks(task) };
  } catch (error) {
    const fault = error instanceof Error && 'syscall' in error;
    return { error: error instanceof Error ? error.message : String(error), fault };
  }
}

async function readTracks({ path, content_type }: InspectTask): Promise<Tracks> {
  const source = new mediabunny.FilePathSource(path, { handleUnhandledError: () => {} });
  const input = new mediabunny.Input({ formats: formats[content_type] ?? [], source });
  try {
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    if (!video && !audio) throw new Error('no track in it');
    // The length of a film is that of its pictures; its sound may be longer.
    const duration_seconds = await measureSeconds((video ?? audio)!);
    for (const track of [video, audio]) if (track) await demandBytes(track, content_type);
    if (await statesLength(path, content_type)) await demandAll(audio, duration_seconds);
    if (content_type === 'audio/flac') await demandSums(audio!);
    if (!video) return { kind: 'audio', duration_seconds };
    const width = await video.getDisplayWidth();
    const height = await video.getDisplayHeight();
    if (!(width > 0 && height > 0)) throw new Error(`an image of ${width} × ${height}`);
    return { kind: 'video', width, height, duration_seconds };
  } finally {
    input.dispose();
  }
}

async function measureSeconds(track: mediabunny.InputTrack): Promise<number> {
  const first = Math.max(0, await track.getFirstTimestamp());
  const seconds = (await track.computeDuration()) - first;
  if (seconds > 0 && seconds < secondsMax) return seconds;
  throw new Error(`a duration of ${seconds} s`);
}

const samples = 50;

/**
 * Reads the last packet, because a file's index may be whole while its data is missing. In an MP4
 * or MOV, which is read by its index alone, also packets all over it: what never came may have been
 * filled with zeros.
 */
async function demandBytes(track: mediabunny.InputTrack, content_type: string): Promise<void> {
  const packets = new mediabunny.EncodedPacketSink(track);
  const last = await packets.getPacket(Infinity);
  if (!last || last.data.byteLength === 0) throw new Error('its last packet is missing');
  const codec = await track.getCodec();
  // Zeros are silence in uncompressed sound.
  if (!/mp4|quicktime/.test(content_type) || codec === null || codec.startsWith('pcm')) return;
  for (let i = 1; i <= samples; i += 1) {
    const packet = await packets.getPacket((last.timestamp * i) / samples);
    if (packet && packet.data.byteLength > 0 && packet.data.every((byte) => byte === 0))
      throw new Error('zeros in place of a packet');
  }
}

/** Each frame of a FLAC ends with a checksum. A tag or other bytes may be behind the last one. */
async function demandSums(track: mediabunny.InputTrack): Promise<void> {
  let [sum, wasWhole] = [0, true];
  for await (const { data } of new mediabunny.EncodedPacketSink(track).packets()) {
    wasWhole &&= sum === 0;
    if (!wasWhole) break;
    wasWhole = false;
    for (const byte of data) {
      sum = nextSum(sum, byte);
      wasWhole ||= sum === 0;
    }
  }
  if (!wasWhole) throw new Error('a frame with a wrong checksum');
}

/** CRC-16 with the polynomial 0x8005; 0 over bytes that end with theirs. */
function nextSum(sum: number, byte: number): number {
  return ((sum << 8) & 0xffff) ^ sums[(sum >> 8) ^ byte]!;
}
const sums = Uint16Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 8;
  for (let i = 0; i < 8; i += 1) sum = (sum << 1) ^ (sum & 0x8000 ? 0x18005 : 0);
  return sum;
});

/** A FLAC and most MP3 files state their length at the beginning. */
async function statesLength(path: string, content_type: string): Promise<boolean> {
  if (content_type !== 'audio/mpeg') return content_type === 'audio/flac';
  const handle = await open(path);
  const read = reader(handle, AbortSignal.any([]));
  return readXing(read)
    .then(({ hasFrames }) => hasFrames)
    .finally(() => handle.close());
}

async function demandAll(track: mediabunny.InputTrack | null, seconds: number): Promise<void> {
  const stated = (await track?.getDurationFromMetadata()) ?? 0;
  if (stated - seconds > Math.max(0.05, stated * 0.01))
    throw new Error(`${seconds} s of ${stated} s`);
}
