/**
 * Runs in a worker thread, which can be ended from outside, because a hostile file can keep the
 * parser busy for ever. Answers each `Task` with an `Answer`.
 */
import { parentPort } from 'node:worker_threads';
import * as mediabunny from 'mediabunny';
import type { Answer, Measures, Task } from './measure.ts';

/**
 * The formats that the parser may try for each detected type; fewer formats leave less to attack.
 * Playlists are excluded, because they make the parser open other files and addresses.
 */
const formats: Record<string, mediabunny.InputFormat[]> = {
  'video/mp4': [mediabunny.MP4, mediabunny.QTFF],
  'video/quicktime': [mediabunny.MP4, mediabunny.QTFF],
  'audio/mp4': [mediabunny.MP4, mediabunny.QTFF],
  'video/webm': [mediabunny.WEBM, mediabunny.MATROSKA],
  'video/x-matroska': [mediabunny.WEBM, mediabunny.MATROSKA],
  'audio/mpeg': [mediabunny.MP3],
  'audio/wav': [mediabunny.WAVE],
  'audio/ogg': [mediabunny.OGG],
  'audio/flac': [mediabunny.FLAC],
  'audio/aac': [mediabunny.ADTS],
};

// Silent, because the parser logs remarks on strange files, and uploads could flood our log.
mediabunny.Logging.level = mediabunny.LogLevel.Silent;

/** Limit for the claim of a header; longer than any real file. */
const maxDurationSeconds = 30 * 24 * 60 * 60;

parentPort?.on('message', (task: Task) => {
  void answer(task).then((reply) => parentPort?.postMessage(reply));
});

async function answer(task: Task): Promise<Answer> {
  try {
    return { measures: await measureTracks(task) };
  } catch (error) {
    const fault = error instanceof Error && 'syscall' in error;
    return { error: error instanceof Error ? error.message : String(error), fault };
  }
}

async function measureTracks({ path, content_type }: Task): Promise<Measures> {
  const source = new mediabunny.FilePathSource(path, { handleUnhandledError: () => {} });
  const input = new mediabunny.Input({ formats: formats[content_type] ?? [], source });
  try {
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    if (!video && !audio) throw new Error('no track in it');
    const first = Math.max(0, await input.getFirstTimestamp());
    const duration_seconds = (await input.computeDuration()) - first;
    if (!(duration_seconds > 0 && duration_seconds < maxDurationSeconds)) {
      throw new Error(`a duration of ${duration_seconds} s`);
    }
    if (!video) return { duration_seconds };
    const width = await video.getDisplayWidth();
    const height = await video.getDisplayHeight();
    if (!(width > 0 && height > 0)) throw new Error(`an image of ${width} × ${height}`);
    return { width, height, duration_seconds };
  } finally {
    input.dispose();
  }
}
