import { writeFileSync } from 'node:fs';
import * as MB from 'mediabunny';
import { sceneOf } from './src/upstreams/sandbox/scene.ts';
import { filmScene, frameRate } from './src/upstreams/sandbox/film.ts';
import { flacTrack } from './src/upstreams/sandbox/mp4.ts';
import { makeSound } from './src/upstreams/sandbox/sound.ts';
for (const [w,h,sec,p] of [[640,360,2,'warm'],[1280,720,5,'snowy mountains at dawn'],[1920,1080,5,'sunset over the sea'],[1920,1080,5.3,'city at night'],[854,480,1.37,'fox in forest'],[3840,2160,2,'aurora over mountains']] as any){
  const t=performance.now();
  const c0=process.cpuUsage();
  const b=await filmScene(sceneOf(p,0),{width:w,height:h,seconds:sec,note:'text to video',text:p,sound:w===1280?flacTrack(makeSound(p,0,sec)):undefined});
  const c=process.cpuUsage(c0);
  const input = new MB.Input({source:new MB.BufferSource(b), formats:MB.ALL_FORMATS});
  const v=(await input.getPrimaryVideoTrack())!;
  console.log(w,h,sec,'fps',frameRate(w,h,sec),'ms',Math.round(performance.now()-t),'cpu',Math.round((c.user+c.system)/1000),'size',b.length, await input.getMimeType(), await v.getDisplayWidth(), await v.getDisplayHeight(), await input.computeDuration(), (await v.computePacketStats()).packetCount, 'rss', Math.round(process.memoryUsage().rss/1e6));
  writeFileSync(`/tmp/sbx/film-${w}.mp4`, b);
}
