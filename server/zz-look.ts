import sharp from 'sharp';
import { sceneOf } from './src/upstreams/sandbox/scene.ts';
import { paintStill } from './src/upstreams/sandbox/paint.ts';
import { letterMask, wrap } from './src/upstreams/sandbox/lettering.ts';
const prompts = process.argv.slice(2);
const W=640,H=360, tiles:any[]=[];
let i=0;
for (const p of prompts) { const t=performance.now(); const s=sceneOf(p,0); const px=paintStill(s,W,H); console.log(p, s.kind, s.palette.name, (performance.now()-t).toFixed(0));
 const m = letterMask(wrap(p,12,W-40,1).map(text=>({text,x:20,y:H-30,size:12,weight:.13})),W,H);
 for(let k=0;k<m.alpha.length;k++){const a=m.alpha[k]/255; for(let c=0;c<3;c++) px[k*3+c]=px[k*3+c]*(1-a)+255*a;}
 tiles.push({input: Buffer.from(px), raw:{width:W,height:H,channels:3}, left:(i%3)*W, top:Math.floor(i/3)*H}); i++; }
await sharp({create:{width:W*3,height:H*Math.ceil(i/3),channels:3,background:'#000'}}).composite(tiles).png().toFile('/tmp/sbx/look.png');
