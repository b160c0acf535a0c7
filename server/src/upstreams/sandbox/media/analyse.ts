import { openMedia } from './probe.ts';

/** Describes a video's true properties in words and numbers, without decoding frames. */
export async function analyse(path: string, question: string): Promise<Record<string, unknown>> {
  const input = openMedia(path);
  try {
    const video = (await input.getPrimaryVideoTrack())!;
    const audio = await input.getPrimaryAudioTrack();
    const stats = await video.computePacketStats();
    const analysis = {
      width: await video.getDisplayWidth(),
      height: await video.getDisplayHeight(),
      duration_seconds: rounded(await video.computeDuration()),
      frames: stats.packetCount,
      frame_rate: rounded(stats.averagePacketRate),
      video_codec: await video.getCodecParameterString(),
      video_bits_per_second: Math.round(stats.averageBitrate),
      audio: audio && {
        codec: await audio.getCodecParameterString(),
        channels: await audio.getNumberOfChannels(),
        sample_rate: await audio.getSampleRate(),
        duration_seconds: rounded(await audio.computeDuration()),
      },
      mime_type: await input.getMimeType(),
    };
    const { width, height, duration_seconds, frames, frame_rate, video_codec } = analysis;
    const sentences = [
      'This is the Farebox sandbox: it measures a video and does not watch it.',
      `The video is ${width} x ${height} pixels and ${duration_seconds} seconds long: ` +
        `${frames} frames at ${frame_rate} a second, coded as ${video_codec}.`,
      analysis.audio
        ? `Its audio is ${analysis.audio.codec}, ${analysis.audio.channels} channel(s) at ` +
          `${analysis.audio.sample_rate} Hz.`
        : 'It has no audio.',
    ];
    const asked = question.trim().slice(0, 300);
    if (asked !== '') sentences.push(`You asked: "${asked}"`);
    return { text: sentences.join(' '), analysis };
  } finally {
    input.dispose();
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
