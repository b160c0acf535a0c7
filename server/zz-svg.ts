import sharp from 'sharp';
import { sceneOf } from './src/upstreams/sandbox/scene.ts';
import { paintStill } from './src/upstreams/sandbox/paint.ts';
import { drawVector } from './src/upstreams/sandbox/vector.ts';
import { drawLabels, layOver } from './src/upstreams/sandbox/label.ts';
const prompts = process.argv.slice(2);
const W=640,H=400, tiles:any[]=[];
let i=0;
for (const p of prompts) { const s=sceneOf(p,0); const svg=drawVector(s,W,H,p); console.log(svg.length);
 const px=paintStill(s,W,H); for(const o of drawLabels(W,H,'edit',p)) layOver(px,W,o);
 tiles.push({input: await sharp(Buffer.from(svg)).png().toBuffer(), left:(i%3)*W, top:Math.floor(i/3)*H*2});
 tiles.push({input: Buffer.from(px), raw:{width:W,height:H,channels:3}, left:(i%3)*W, top:Math.floor(i/3)*H*2+H}); i++; }
await sharp({create:{width:W*3,height:2*H*Math.ceil(i/3),channels:3,background:'#000'}}).composite(tiles).png().toFile('/tmp/sbx/look.png');
