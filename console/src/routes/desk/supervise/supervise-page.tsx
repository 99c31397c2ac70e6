// For who leads a desk: what is open and how old, who works on what, how it goes, and what to do about it.
import type { DeskFigures } from '@reeve/sdk'
import { Link } from '@tanstack/react-router'
import { number } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { buttonClass } from '../../../parts/controls/button.tsx'
import { Chart } from '../../../parts/data/chart.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { Duration } from '../../../parts/data/time.tsx'
import { useFigures } from '../desk-count.tsx'
import { OpenTasks } from './open-tasks.tsx'
import { Operators } from './operators.tsx'

export function SupervisePage() {
  const figures = useFigures()
  return (
    <Page title="Supervise" crumbs={[{ label: 'Desk', to: '/console/desk' }]} actions={<Links />}>
      {figures.isPending && <Skeleton lines={3} />}
      {figures.isError && (
        <ErrorBox
          title="The figures could not be loaded"
          error={figures.error}
          onRetry={() => void figures.refetch()}
        />
      )}
      {figures.data !== undefined && <Numbers figures={figures.data} />}
      {figures.data !== undefined && <Throughput hours={figures.data.hours} />}
      <h2 className="mt-6 mb-2 text-lead font-semibold">Open tasks</h2>
      <OpenTasks />
      <h2 className="mt-8 mb-2 text-lead font-semibold">Operators, last 24 hours</h2>
      <Operators />
    </Page>
  )
}

function Links() {
  return (
    <>
      <Link to="/console/desk/trail" className={buttonClass('plain')}>
        Trail
      </Link>
      <Link to="/console/desk/domains" className={buttonClass('plain')}>
        Allowed domains
      </Link>
    </>
  )
}

function Numbers({ figures }: { figures: DeskFigures }) {
  const { oldest_waiting_at: oldest } = figures
  const solved = figures.hours.reduce((sum, hour) => sum + hour.solved, 0)
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-5">
      <Figure name="Waiting" value={number(figures.waiting)} />
      <Figure name="Oldest waits" value={oldest === null ? '–' : <Duration from={oldest} />} />
      <Figure name="Claimed" value={number(figures.claimed)} />
      <Figure name="Overdue" value={number(figures.overdue)} isBad={figures.overdue > 0} />
      <Figure name="Solved in 24 h" value={number(solved)} />
    </dl>
  )
}

function Figure({ name, value, isBad = false }: { name: string; value: React.ReactNode; isBad?: boolean }) {
  return (
    <div>
      <dt className="text-small text-quiet">{name}</dt>
      <dd className={`text-title font-semibold ${isBad ? 'text-warn-fg' : ''}`}>{value}</dd>
    </div>
  )
}

const HOUR_SEC = 3600

function Throughput({ hours }: { hours: DeskFigures['hours'] }) {
  if (hours.length === 0) return null
  const seen = new Map(hours.map((hour) => [Date.parse(hour.hour) / 1000, hour]))
  const last = Math.max(...seen.keys())
  const times = Array.from({ length: 24 }, (_, index) => last - (23 - index) * HOUR_SEC)
  const line = (name: 'created' | 'solved' | 'unsolvable') => times.map((time) => seen.get(time)?.[name] ?? 0)
  return (
    <div className="mt-4">
      <Chart
        title="Tasks per hour"
        times={times}
        format={(value) => number(Math.round(value))}
        lines={[
          { label: 'came', colour: '--text-quiet', values: line('created') },
          { label: 'solved', colour: '--good-fg', values: line('solved') },
          { label: 'unsolvable', colour: '--bad-fg', values: line('unsolvable') },
        ]}
      />
    </div>
  )
}
