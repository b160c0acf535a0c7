import sharp from 'sharp';
const f = ['out-edit-0.png','out-upscale-0.png','out-reframe-0.png','out-layer-decomposition-0.png','out-layer-decomposition-1.png','out-layer-decomposition-2.png','out-text-to-image-0.webp','out-text-to-vector-0.svg'];
const t=await Promise.all(f.map(async (n,i)=>({input: await sharp('/tmp/sbx/'+n).resize(380,300,{fit:'contain',background:'#446'}).png().toBuffer(), left:(i%4)*385, top:Math.floor(i/4)*305})));
await sharp({create:{width:1540,height:610,channels:3,background:'#222'}}).composite(t).png().toFile('/tmp/sbx/mont.png');
