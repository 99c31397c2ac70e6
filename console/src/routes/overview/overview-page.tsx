import type { OverviewPoint, OverviewSample } from '@reeve/sdk'
import { Link } from '@tanstack/react-router'
import { duration, number } from '../../clock/format.ts'
import { Page } from '../../frame/page.tsx'
import { Chart, type ChartLine } from '../../parts/data/chart.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { TONE_CLASS } from '../../parts/data/state-badge.tsx'
import { Time } from '../../parts/data/time.tsx'
import { useOverview } from './overview-data.ts'

export function OverviewPage() {
  const { points, sample } = useOverview()
  return (
    <Page title="Overview">
      {sample === null ? (
        <Skeleton lines={8} />
      ) : (
        <>
          <Attention attention={sample.attention} />
          <Charts points={points} />
          <Kinds kinds={sample.kinds} />
        </>
      )}
    </Page>
  )
}

function Attention({ attention }: Pick<OverviewSample, 'attention'>) {
  if (attention.length === 0) {
    return (
      <p className={`flex items-center gap-2 rounded-md px-4 py-3 ${TONE_CLASS.good}`}>
        <Icon name="check" /> Nothing needs attention.
      </p>
    )
  }
  return (
    <ul aria-label="Needs attention" className="flex flex-wrap gap-3">
      {attention.map(({ tone, count, isMore, text, to }) => {
        const [path = '', query = ''] = to.split('?')
        return (
          <li key={text} className="max-sm:w-full">
            <Link
              to={path}
              search={Object.fromEntries(new URLSearchParams(query))}
              className={`flex items-center gap-2 rounded-md px-4 py-3 hover:underline ${TONE_CLASS[tone]}`}
            >
              <Icon name="warn" />
              <span className="shrink-0 text-lead font-semibold">
                {number(count)}
                {isMore === true && '+'}
              </span>
              <span>{text}</span>
            </Link>
          </li>
        )
      })}
    </ul>
  )
}

const perSecond = (value: number): string =>
  `${value > 0 && value < 10 ? value.toFixed(1) : number(Math.round(value))}/s`
const whole = (value: number): string => number(Math.round(value))

function Charts({ points }: { points: readonly OverviewPoint[] }) {
  const times = points.map(({ at }) => at)
  const line = (label: string, colour: string, name: keyof OverviewPoint): ChartLine => ({
    label,
    colour,
    values: points.map((point) => point[name]),
  })
  const shared = { times, group: 'overview' }
  return (
    <div className="mt-6 grid gap-6 lg:grid-cols-2">
      <Chart
        {...shared}
        title="Jobs"
        format={perSecond}
        lines={[
          line('submitted', '--accent', 'submitted'),
          line('done', '--good-fg', 'done'),
          line('dead', '--bad-fg', 'died'),
        ]}
      />
      <Chart
        {...shared}
        title="From submit to done"
        format={duration}
        lines={[line('median', '--accent', 'p50'), line('95 %', '--warn-fg', 'p95'), line('99 %', '--bad-fg', 'p99')]}
      />
      <Chart
        {...shared}
        title="Queue"
        format={whole}
        lines={[line('waiting', '--quiet-fg', 'waiting'), line('running', '--accent', 'running')]}
      />
      <Chart
        {...shared}
        title="Requests to this process"
        format={perSecond}
        lines={[line('answered', '--accent', 'requests'), line('refused or failed', '--bad-fg', 'errors')]}
      />
    </div>
  )
}

function Kinds({ kinds }: Pick<OverviewSample, 'kinds'>) {
  if (kinds.length === 0) return <p className="mt-6 text-quiet">Nothing waits and nothing runs.</p>
  return (
    <div className="mt-6 overflow-x-auto">
      <table className="w-full max-w-3xl text-left">
        <caption className="pb-2 text-left text-lead font-semibold">What waits</caption>
        <thead className="text-small text-quiet">
          <tr className="border-b border-line [&_th]:py-1 [&_th]:pr-4 [&_th]:font-normal">
            <th scope="col">Kind</th>
            <th scope="col">Waiting</th>
            <th scope="col">Running</th>
            <th scope="col">Oldest</th>
          </tr>
        </thead>
        <tbody>
          {kinds.map(({ kind, waiting, running, oldest_at: oldest }) => (
            <tr key={kind} className="border-b border-line [&_td]:py-2 [&_td]:pr-4">
              <th scope="row" className="py-2 pr-4 font-medium">
                <Link
                  to="/console/jobs"
                  search={{ q: `state:waiting kind:${kind}` }}
                  className="text-accent hover:underline"
                >
                  {kind}
                </Link>
              </th>
              <td>{waiting >= 10_000 ? '10,000+' : number(waiting)}</td>
              <td>{number(running)}</td>
              <td>
                <Time at={oldest} inList />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
