import { mkdtempSync, writeFileSync, readFileSync, rmSync } from 'node:fs';
import sharp from 'sharp';
import * as MB from 'mediabunny';
import { createSandbox } from './src/upstreams/sandbox/sandbox.ts';
import { makeSound, wavOf } from './src/upstreams/sandbox/sound.ts';
const dir = mkdtempSync('/tmp/sbx/dir-');
const sb = createSandbox({ dir, speed: Infinity });
const file = (b: Uint8Array, t: string) => ({ content_type: t, size: b.length, open: async () => (async function*(){ yield b; })() });
const photo = await sharp({ create: { width: 900, height: 600, channels: 3, background: '#f3e6d0' } }).composite([
 { input: Buffer.from('<svg width="900" height="600"><defs><linearGradient id="g" x2="0" y2="1"><stop offset="0" stop-color="#7ec8f0"/><stop offset="1" stop-color="#fff3d8"/></linearGradient></defs><rect width="900" height="600" fill="url(#g)"/><circle cx="450" cy="270" r="150" fill="#d9573a"/><circle cx="400" cy="240" r="18" fill="#222"/><circle cx="500" cy="240" r="18" fill="#222"/><path d="M390 320Q450 370 510 320" stroke="#222" stroke-width="10" fill="none"/><rect y="480" width="900" height="120" fill="#2f6b4f"/></svg>') }]).jpeg().toBuffer();
const wav = wavOf(makeSound('x', 1, 3.4));
let n = 0;
async function run(task: string, input: any, files: any = {}) {
  const t = performance.now();
  const s: any = await sb.start({ request_id: 'r'+n, idempotency_key: 'k'+(n++), model: 'm', task, input, files, signal: AbortSignal.timeout(60000) });
  if (s.outcome !== 'accepted') { console.log(task, s); return []; }
  let p: any;
  do { p = await sb.poll(s.handle, AbortSignal.timeout(60000)); } while (p.state === 'running');
  const ms = Math.round(performance.now() - t);
  if (p.state !== 'done') { console.log(task, p); return []; }
  for (const [i, m] of p.result.media.entries()) {
    const b = m.source.bytes; writeFileSync(`/tmp/sbx/out-${task.replace('/','_')}-${i}.${m.file_name.split('.').pop()}`, b);
    let info: any;
    if (m.field === 'images') { const x = await sharp(b).metadata(); info = `${x.format} ${x.width}x${x.height} alpha ${x.hasAlpha}`; }
    else { const input = new MB.Input({ source: new MB.BufferSource(b), formats: MB.ALL_FORMATS }); const v = await input.getPrimaryVideoTrack(); info = `${await input.getMimeType()} ${v && await v.getDisplayWidth()}x${v && await v.getDisplayHeight()} ${(await input.computeDuration()).toFixed(3)}s v ${v && (await v.computeDuration()).toFixed(3)}`; }
    console.log(task, m.field, m.content_type, b.length, info, ms + 'ms', 'rss', Math.round(process.memoryUsage().rss/1e6));
  }
  if (!p.result.media.length || task==='edit') console.log(task, JSON.stringify(p.result.fields), ms);
  return p.result.media.map((m: any) => m.source.bytes);
}
const F = { image_url: 'file_a' }, fa = { file_a: file(photo, 'image/jpeg') };
await run('text-to-image', { prompt: 'sunset over the sea', num_images: 2, resolution: '1k', aspect_ratio: '16:9' });
await run('text-to-image', { prompt: 'mountains', resolution: '4k', output_format: 'webp' });
await run('text-to-vector', { prompt: 'hills' });
await run('edit', { prompt: 'make it nice', ...F, num_images: 2 }, fa);
await run('upscale', { scale: 4, ...F }, fa);
await run('reframe', { aspect_ratio: '9:16', ...F }, fa);
await run('reframe', { aspect_ratio: '1:1', mode: 'pad', ...F }, fa);
await run('layer-decomposition', { ...F, num_images: 3 }, fa);
const [film] = await run('text-to-video', { prompt: 'city at night', duration_seconds: 3.3, resolution: '540p', generate_audio: true });
await run('image-to-video', { prompt: 'go', duration_seconds: 2, resolution: '480p', ...F }, fa);
await run('reference-to-video', { prompt: 'both', duration_seconds: 3, reference_image_urls: ['file_a', 'file_b'], aspect_ratio: '1:1', resolution: '480p' }, { ...fa, file_b: file(await sharp(photo).greyscale().negate().png().toBuffer(), 'image/png') });
const V = { video_url: 'file_v' }, fv = { file_v: file(film, 'video/mp4') }, fw = { file_w: file(wav, 'audio/wav') };
await run('character-animation', { ...F, ...V, resolution: '480p' }, { ...fa, ...fv });
await run('motion-control', { ...F, duration_seconds: 2, resolution: '480p', aspect_ratio:'9:16' }, fa);
await run('talking-avatar', { ...F, audio_url: 'file_w', resolution: '480p' }, { ...fa, ...fw });
await run('lip-sync', { ...V, audio_url: 'file_w' }, { ...fv, ...fw });
await run('video-edit', { ...V, duration_seconds: 1.5 }, fv);
await run('video-to-video/edit', { ...V, prompt: 'slow and rotate', duration_seconds: 4 }, fv);
await run('video-extend', { ...V, prompt: 'snow mountains', duration_seconds: 2 }, fv);
await run('video-to-audio', { ...V }, fv);
await run('video-analyze', { ...V, prompt: 'what is in it?' }, fv);
await run('video-edit', { ...V }, { file_v: file(photo, 'video/mp4') });
await run('video-edit', { ...V }, { file_v: file(film.subarray(0, 3000), 'video/mp4') });
await run('edit', { ...F }, { file_a: file(photo.subarray(0, 9000), 'image/jpeg') });
await run('edit', { image_url: 'https://example.com/a.jpg' });
console.log('rss before idle', process.memoryUsage().rss/1e6);
await new Promise(r=>setTimeout(r,11000)); (globalThis as any).gc?.();
console.log('rss after idle', process.memoryUsage().rss/1e6);
await sb.close!(); rmSync(dir, { recursive: true });
