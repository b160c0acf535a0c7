import { readFileSync, writeFileSync } from 'node:fs';
import * as MB from 'mediabunny';
import { withTracks, cutPicture } from './src/upstreams/sandbox/clip.ts';
import { writeMp4 } from './src/upstreams/sandbox/mp4.ts';
const nals=(d:Uint8Array)=>{const o=[];let i=0;const v=new DataView(d.buffer,d.byteOffset,d.byteLength);while(i<d.length){const n=v.getUint32(i);o.push((d[i+4]!&31)+':'+n+' ref'+(d[i+4]!>>5)+' '+Buffer.from(d.subarray(i+5,i+13)).toString('hex'));i+=4+n;}return o.join(' | ')};
for (const f of ['/tmp/sbx/ext-avc.bin','/tmp/sbx/out-reference-to-video-0.mp4']) await withTracks(f, async (v:any)=>{
 const cut=await cutPicture(v,0,3);
 console.log(f, cut.picture.packets.length, Buffer.from((cut.picture.config as any).description).toString('hex'));
 let i=0; for(const p of cut.picture.packets) { if([0,1,2,23,24,25,26].includes(i)) console.log(i,p.type,p.timestamp.toFixed(3),nals(p.data)); i++; }
 writeFileSync('/tmp/sbx/re-'+f.split('/').pop(), await writeMp4(cut.picture));
});
