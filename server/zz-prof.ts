import { sceneOf } from './src/upstreams/sandbox/scene.ts';
import { painterOf } from './src/upstreams/sandbox/paint.ts';
for (const p of ['snowy mountains at dawn','sunset over the sea','city at night','aurora over mountains','desert','abstract', 'fox in forest','red']){
 const s=sceneOf(p,0); const w=860,h=484; const row=new Float32Array(w*3);
 const t=performance.now(); for(let k=0;k<10;k++){const pt=painterOf(s,w,h,k*.1); for(let y=0;y<h;y++) pt(y,row);} console.log(p, ((performance.now()-t)/10).toFixed(1),'ms/frame');
}
