import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { atSpeed, cutAudio, cutVideo, loopVideo, withTracks, type Cut } from './clip.ts';
import { makeAudio } from './audio.ts';
import { flacTrack } from './flac.ts';
import { encodeH264 } from './h264.ts';
import { writeMp4 } from './mp4.ts';

const framesPerSecond = 10;
const groupFrames = 24;
let folder: string;
let path: string;

/**
 * Decoding order of a video with frames that lean on later ones: 0 3 1 2 6 4 5 …, group by group.
 */
function shownAt(index: number): number {
  const within = index % groupFrames;
  if (within === 0 || within > groupFrames - 3) return index;
  const place = (within - 1) % 3;
  return place === 0 ? index + 2 : index - 1;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clip-'));
  path = join(folder, 'video.mp4');
  const draw = (): void => undefined;
  const size = { width: 64, height: 64, frames: 72, seconds: 7.2 };
  const video = await encodeH264({ ...size, draw });
  const packets = video.packets.map((packet, i) =>
    packet.clone({ timestamp: shownAt(i) / framesPerSecond, duration: 1 / framesPerSecond }),
  );
  await writeFile(path, await writeMp4({ ...video, packets }, flacTrack(makeAudio('x', 0, 7.2))));
});
after(() => rm(folder, { recursive: true }));

/**
 * Every frame from the first to the last is there, none twice, and the last stands until the end.
 */
function assertGapless(cut: Cut): void {
  const shown = cut.video.packets
    .map(({ timestamp, duration }) => ({ from: timestamp, to: timestamp + duration }))
    .sort((a, b) => a.from - b.from);
  assert.equal(shown[0]!.from, 0);
  for (const [i, { to }] of shown.entries()) {
    const next = shown[i + 1]?.from ?? cut.seconds;
    assert.ok(Math.abs(to - next) < 0.002, `frame ${i} ends at ${to}, the next begins at ${next}`);
  }
}

describe('cutting a video whose frames are out of order', () => {
  for (const seconds of [0.1, 0.35, 1, 1.05, 2.4, 3.3, 5.95]) {
    test(`to ${seconds} s leaves no gap and nothing that depends on what is gone`, async () => {
      const cut = await withTracks(path, (video) => cutVideo(video!, 0, seconds));
      assert.ok(Math.abs(cut.seconds - seconds) < 1e-6);
      assertGapless(cut);
      const kept = cut.video.packets.map(({ timestamp }) =>
        Math.round(timestamp * framesPerSecond),
      );
      // A beginning in decoding order is what can always be decoded.
      assert.deepEqual(
        kept,
        Array.from({ length: kept.length }, (_, i) => shownAt(i)),
      );
    });
  }

  test('from the middle begins at the key frame before', async () => {
    const cut = await withTracks(path, (video) => cutVideo(video!, 3.1, 1));
    assert.ok(Math.abs(cut.from - groupFrames / framesPerSecond) < 0.001);
    assert.equal(cut.video.packets[0]!.type, 'key');
    assert.equal(cut.video.packets[0]!.timestamp, 0);
    assertGapless(cut);
  });

  test('asked for more than there is gives what there is', async () => {
    const cut = await withTracks(path, (video) => cutVideo(video!, 0, 60));
    assert.equal(cut.video.packets.length, 72);
    assert.ok(Math.abs(cut.seconds - 7.2) < 0.002);
  });

  test('looped fills the time to the end', async () => {
    const cut = await withTracks(path, (video) => loopVideo(video!, 14.5));
    assert.equal(cut.seconds, 14.5);
    assertGapless(cut);
  });

  test('slower is longer, faster is shorter, frame for frame', async () => {
    const cut = await withTracks(path, (video) => cutVideo(video!, 0, 2));
    for (const speed of [0.5, 2]) {
      const played = atSpeed(cut, speed);
      assert.equal(played.seconds, 2 / speed);
      assert.equal(played.video.packets.length, cut.video.packets.length);
      assertGapless(played);
    }
  });
});

test('audio that is cut stays within its video', async () => {
  const audio = await withTracks(path, (_, audio) => cutAudio(audio, 2, 1.5));
  const first = audio!.packets[0]!;
  const last = audio!.packets.at(-1)!;
  assert.ok(first.timestamp >= -0.002 && first.timestamp < 0.2);
  assert.ok(last.timestamp + last.duration <= 1.502);
  assert.equal(audio!.codec, 'flac');
});

test('audio that is cut and stands alone reaches its end, by less than a frame', async () => {
  for (const seconds of [0.1, 0.5, 1, 2, 3.3]) {
    const audio = await withTracks(path, (_, audio) => cutAudio(audio, 0, seconds, 'alone'));
    const last = audio!.packets.at(-1)!;
    assert.equal(audio!.packets[0]!.timestamp, 0);
    assert.ok(last.timestamp < seconds, `${seconds}: a frame too many`);
    assert.ok(last.timestamp + last.duration >= seconds - 0.002, `${seconds}: too short`);
  }
});

test('audio that ends before is as long as it is, alone or not', async () => {
  for (const where of ['alone', 'under'] as const) {
    const audio = await withTracks(path, (_, audio) => cutAudio(audio, 0, 60, where));
    const last = audio!.packets.at(-1)!;
    assert.ok(Math.abs(last.timestamp + last.duration - 7.2) < 0.002, where);
  }
});
