import { mkdtempSync, writeFileSync, readFileSync, rmSync } from 'node:fs';
import * as MB from 'mediabunny';
import { fileTypeFromBuffer } from 'file-type';
import { createSandbox } from './src/upstreams/sandbox/sandbox.ts';
import { makeSound, wavOf } from './src/upstreams/sandbox/sound.ts';
const dir = mkdtempSync('/tmp/sbx/dir-');
const sb = createSandbox({ dir, speed: Infinity });
const file = (b: Uint8Array, t='x') => ({ content_type: t, size: b.length, open: async () => (async function*(){ yield b; })() });
let n=0;
async function run(label: string, task: string, input: any, files: any) {
  const s: any = await sb.start({ request_id: 'r'+n, idempotency_key: 'k'+(n++), model: 'm', task, input, files, signal: AbortSignal.timeout(60000) });
  if (s.outcome !== 'accepted') return console.log(label, s);
  let p: any; do { p = await sb.poll(s.handle, AbortSignal.timeout(60000)); } while (p.state === 'running');
  if (p.state !== 'done') return console.log(label, p);
  for (const m of p.result.media) { const b=m.source.bytes; writeFileSync(`/tmp/sbx/x-${label}.mp4`, b);
    const i = new MB.Input({ source: new MB.BufferSource(b), formats: MB.ALL_FORMATS }); const v = await i.getPrimaryVideoTrack();
    console.log(label, b.length, await i.getMimeType(), (await i.computeDuration()).toFixed(3), v && (await v.computeDuration()).toFixed(3), (await fileTypeFromBuffer(b))?.mime); }
  if (!p.result.media.length) console.log(p.result.fields.text);
}
const wav = wavOf(makeSound('x', 1, 4.4));
for (const e of ['avc','vp9','vp9mp4']) { const fs={v:file(readFileSync(`/tmp/sbx/ext-${e}.bin`)), w:file(wav)};
 await run(e+'-cut','video-edit',{video_url:'v',duration_seconds:1.5,start_seconds:1.2},fs);
 await run(e+'-fast','video-edit',{video_url:'v',prompt:'fast'},fs);
 await run(e+'-ext','video-extend',{video_url:'v',duration_seconds:4.3},fs);
 await run(e+'-lip','lip-sync',{video_url:'v',audio_url:'w'},fs);
 await run(e+'-aud','video-to-audio',{video_url:'v',duration_seconds:2},fs);
 await run(e+'-ana','video-analyze',{video_url:'v'},fs);
}
await sb.close!(); rmSync(dir,{recursive:true});
