import { mkdtempSync, rmSync } from 'node:fs';
import { createSandbox } from './src/upstreams/sandbox/sandbox.ts';
const rss=()=>Math.round(process.memoryUsage().rss/1e6);
const dir = mkdtempSync('/tmp/sbx/dir-');
const base=rss(); let peak=0; const iv=setInterval(()=>{peak=Math.max(peak,rss())},50);
const sb = createSandbox({ dir, speed: Infinity });
let n=0;
async function run(task: string, input: any) {
  const t=performance.now();
  const s: any = await sb.start({ request_id: 'r'+n, idempotency_key: 'k'+(n++), model: 'm', task, input, files:{}, signal: AbortSignal.timeout(60000) });
  let p: any; do { p = await sb.poll(s.handle, AbortSignal.timeout(60000)); } while (p.state === 'running');
  console.log(task, JSON.stringify(input).slice(0,90), Math.round(performance.now()-t),'ms', p.result.media.map((m:any)=>m.source.bytes.length).join(), 'rss', rss());
}
console.log('base', base);
await run('text-to-image',{prompt:'warm'});
await run('text-to-image',{prompt:'warm'});
await run('text-to-image',{prompt:'mountains', resolution:'4k'});
await run('text-to-video',{prompt:'sea at sunset', resolution:'480p', duration_seconds:5});
await run('text-to-video',{prompt:'sea at sunset', resolution:'720p', duration_seconds:5});
await run('text-to-video',{prompt:'sea at sunset', resolution:'1080p', duration_seconds:5});
await run('text-to-video',{prompt:'mountains', resolution:'1080p', duration_seconds:10});
await run('text-to-video',{prompt:'mountains', resolution:'4k', duration_seconds:3});
console.log('peak', peak, 'before idle', rss());
for (const w of [11000, 5000]) { await new Promise(r=>setTimeout(r,w)); console.log('rest', rss(), process.memoryUsage()); }
globalThis.gc?.(); console.log('after gc', rss());
await sb.close!(); clearInterval(iv); rmSync(dir,{recursive:true});
