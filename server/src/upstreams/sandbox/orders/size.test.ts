import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resolutions } from '../../../core/catalog/catalog.ts';
import { SandboxRefusal } from '../refusal.ts';
import { aspectOf, sizeOf, type SizeRules } from './size.ts';

const still: SizeRules = { resolution: '1k', aspect: 1, pixels: 4096 * 4096, even: false };
const film: SizeRules = { resolution: '720p', aspect: 16 / 9, pixels: 4096 * 2304, even: true };

describe('the size of what is made', () => {
  const cases: [input: Record<string, unknown>, rules: SizeRules, size: string][] = [
    [{}, still, '1024x1024'],
    [{}, film, '1280x720'],
    [{ resolution: '0.5k' }, still, '512x512'],
    [{ resolution: '1.5k', aspect_ratio: '3:2' }, still, '1536x1024'],
    [{ resolution: '2k', aspect_ratio: '9:16' }, still, '1152x2048'],
    [{ resolution: '4k' }, still, '4096x4096'],
    [{ resolution: '4k' }, film, '4096x2304'],
    [{ resolution: '480p' }, film, '854x480'],
    [{ resolution: '540p' }, film, '960x540'],
    [{ resolution: '768p' }, film, '1366x768'],
    [{ resolution: '1080p', aspect_ratio: '9:16' }, film, '1080x1920'],
    [{ resolution: '1080p', aspect_ratio: '1:1' }, film, '1080x1080'],
    [{ resolution: '1080p', aspect_ratio: 'auto' }, film, '1920x1080'],
    [{ width: 300, height: 201, resolution: '4k' }, still, '300x201'],
    [{ width: 301, height: 201 }, film, '302x202'],
    [{ image_size: { width: 640, height: 360 }, resolution: '4k' }, still, '640x360'],
    [{ image_size: 'portrait_16_9' }, still, '576x1024'],
    [{ image_size: '300x200' }, still, '300x200'],
    [{ image_size: null, width: null, height: '', resolution: '0.5k' }, still, '512x512'],
  ];
  for (const [input, rules, expected] of cases) {
    test(`${JSON.stringify(input)} is ${expected}`, () => {
      const { width, height } = sizeOf(input, rules);
      assert.equal(`${width}x${height}`, expected);
    });
  }

  test('every resolution of the catalog is known', () => {
    for (const resolution of resolutions) assert.ok(sizeOf({ resolution }, film).width > 0);
  });

  for (const input of [
    { resolution: '8k' },
    { width: 100 },
    { width: 63, height: 100 },
    { width: 5000, height: 100 },
    { width: Number.NaN, height: 100 },
    { width: '1e9', height: 100 },
    { image_size: 'huge' },
    { image_size: 7 },
    { aspect_ratio: '9:1' },
    { aspect_ratio: 'wide' },
    { aspect_ratio: '0:0' },
  ]) {
    test(`${JSON.stringify(input)} is refused`, () => {
      assert.throws(() => sizeOf(input, still), SandboxRefusal);
    });
  }

  test('more pixels than allowed are refused, though each side is short enough', () => {
    assert.throws(() => sizeOf({ width: 4096, height: 4096 }, film), SandboxRefusal);
  });

  test('an absent aspect ratio leaves the natural one', () => {
    assert.equal(aspectOf({}, 1.5), 1.5);
    assert.equal(aspectOf({ aspect_ratio: '21:9' }, 1.5), 21 / 9);
  });
});
