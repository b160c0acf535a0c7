import { openMedia } from './probe.ts';

/** A film's true properties, in words and in figures. The pictures themselves are not looked at. */
export async function analyse(path: string, question: string): Promise<Record<string, unknown>> {
  const input = openMedia(path);
  try {
    const video = (await input.getPrimaryVideoTrack())!;
    const audio = await input.getPrimaryAudioTrack();
    const stats = await video.computePacketStats();
    const facts = {
      width: await video.getDisplayWidth(),
      height: await video.getDisplayHeight(),
      duration_seconds: round(await video.computeDuration()),
      frames: stats.packetCount,
      frame_rate: round(stats.averagePacketRate),
      video_codec: await video.getCodecParameterString(),
      video_bits_per_second: Math.round(stats.averageBitrate),
      audio: audio && {
        codec: await audio.getCodecParameterString(),
        channels: await audio.getNumberOfChannels(),
        sample_rate: await audio.getSampleRate(),
        duration_seconds: round(await audio.computeDuration()),
      },
      mime_type: await input.getMimeType(),
    };
    const sound = facts.audio
      ? `Its sound is ${facts.audio.codec}, ${facts.audio.channels} channel(s) at ` +
        `${facts.audio.sample_rate} Hz.`
      : 'It has no sound.';
    const text =
      `This is the Farebox sandbox: it measures a film and does not watch it. ` +
      `The film is ${facts.width} x ${facts.height} pixels and ${facts.duration_seconds} seconds ` +
      `long: ${facts.frames} frames at ${facts.frame_rate} a second, ` +
      `coded as ${facts.video_codec}. ${sound}` +
      (question.trim() === '' ? '' : ` You asked: "${question.trim().slice(0, 300)}"`);
    return { text, analysis: facts };
  } finally {
    input.dispose();
  }
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
