import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { ColorSwatch, Group, Paper, Stack, Text } from '@mantine/core';
import { Dimmed } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import type { Day, Series } from './overview-data.ts';

/**
 * A bar chart of spend per day. A separate chunk, because the chart library is larger than all
 * other code.
 */
export default function SpendChart(props: {
  days: Day[];
  series: Series[];
  nameOf: (series: Series) => string;
  dayOf: (day: string, long?: boolean) => string;
  label: string;
}) {
  const { days, series, nameOf, dayOf, label } = props;
  const colors = series.map((each, i) => colorOf(each, i));
  const data = days.map(({ day, parts }) => ({
    day,
    ...Object.fromEntries(parts.map((part, i) => [`part${i}`, Number(part) / 1e6])),
  }));
  const byDay = new Map(days.map((day) => [day.day, day]));
  return (
    <Stack gap="sm">
      <div role="img" aria-label={label}>
        <BarChart
          h={260}
          data={data}
          dataKey="day"
          type="stacked"
          withLegend={false}
          gridAxis="x"
          tickLine="none"
          maxBarWidth={42}
          barProps={{ isAnimationActive: false, radius: 0 }}
          barChartProps={{ accessibilityLayer: false }}
          series={series.map((each, i) => ({
            name: `part${i}`,
            label: nameOf(each),
            color: colors[i]!,
          }))}
          xAxisProps={{ tickFormatter: (day: string) => dayOf(day), minTickGap: 28 }}
          yAxisProps={{ width: 64, tickFormatter: axisText }}
          tooltipProps={{
            isAnimationActive: false,
            content: ({ active, label: day }) => {
              const shown = active ? byDay.get(String(day)) : undefined;
              if (!shown || shown.total === 0n) return null;
              return (
                <Paper withBorder shadow="md" px="md" py="sm">
                  <Group justify="space-between" gap="xl" mb={4}>
                    <Text fw={600} size="sm">
                      {dayOf(shown.day, true)}
                    </Text>
                    <Text fw={600} size="sm">
                      <Usd micro={shown.total} />
                    </Text>
                  </Group>
                  {series.map((each, i) =>
                    shown.parts[i] === 0n ? null : (
                      <Group key={each.name} justify="space-between" gap="xl" wrap="nowrap">
                        <Named color={colors[i]!} name={nameOf(each)} />
                        <Text size="sm">
                          <Usd micro={shown.parts[i]!} />
                        </Text>
                      </Group>
                    ),
                  )}
                </Paper>
              );
            },
          }}
        />
      </div>
      <Group gap="4px 16px">
        {series.map((each, i) => (
          <Group key={each.name} gap={6} wrap="nowrap" maw="100%">
            <Named color={colors[i]!} name={nameOf(each)} />
            <Dimmed>
              <Usd micro={each.total} />
            </Dimmed>
          </Group>
        ))}
      </Group>
    </Stack>
  );
}

function Named({ color, name }: { color: string; name: string }) {
  return (
    <Group gap={6} wrap="nowrap" miw={0}>
      <ColorSwatch color={color} size={10} />
      <Text size="sm" truncate title={name}>
        {name}
      </Text>
    </Group>
  );
}

const kindColors = { image: 'var(--c1)', video: 'var(--c2)', text: 'var(--c3)' } as const;
function colorOf({ kind, name }: Series, i: number): string {
  if (kind) return kindColors[kind];
  return name === '' ? 'var(--c8)' : `var(--c${(i % 7) + 1})`;
}

/** Rounded, for axis labels only: amounts elsewhere are never rounded. */
function axisText(value: number): string {
  return `$${Number(value.toPrecision(3))}`;
}
